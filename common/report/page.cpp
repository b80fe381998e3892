#include "common/report/page.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/base/assert.h"
#include "common/report/frame.h"
#include "common/report/markup.h"

namespace lambda::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 5, kTimeDigits = 7;  // more than a picture shows

// Not finite: null.
double brief(double value, int digits) {
    if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
    return std::strtod(significant(value, digits).c_str(), nullptr);
}

double mean_of_known(const double* begin, const double* end) {
    double sum = 0;
    std::size_t known = 0;
    for (; begin != end; ++begin) {
        if (!std::isfinite(*begin)) continue;
        sum += *begin;
        ++known;
    }
    return known == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(known);
}

std::size_t lines_shown(const Chart& chart) {
    return std::min(chart.lines.size(), kMostLines);
}

// How many points each line may have, that all numbers together are not too many.
std::size_t points_allowed(const Page& page) {
    std::size_t lines = 1;
    for (const Section& section : page.sections)
        for (const Chart& chart : section.charts) lines += 1 + 3 * lines_shown(chart);
    return std::clamp<std::size_t>(kMostNumbers / lines, 2, kMostPoints);
}

Json thinned(const std::vector<double>& values, std::size_t group) {
    const double* const from = values.data();
    Json means = Json::array();
    for (std::size_t at = 0; at < values.size(); at += group)
        means.push_back(
            brief(mean_of_known(from + at, from + std::min(at + group, values.size())), kDigits));
    return means;
}

Json json_of(const Chart& chart, std::size_t most_points) {
    const std::size_t points = chart.seconds.size(), shown = lines_shown(chart);
    const std::size_t group = std::max<std::size_t>(1, (points + most_points - 1) / most_points);
    Json seconds = Json::array(), lines = Json::array();
    for (std::size_t end = group; end < points + group; end += group)
        seconds.push_back(brief(chart.seconds[std::min(end, points) - 1], kTimeDigits));
    for (std::size_t i = 0; i < shown; ++i) {
        // Evenly from all of them.
        const Line& line = chart.lines[i * chart.lines.size() / shown];
        LAMBDA_ASSERT(line.values.size() == points);
        lines.push_back({{"name", line.name}, {"values", thinned(line.values, group)}});
        if (line.low.empty()) continue;
        LAMBDA_ASSERT(line.low.size() == points && line.high.size() == points);
        lines.back()["low"] = thinned(line.low, group);
        lines.back()["high"] = thinned(line.high, group);
    }
    Json told{{"title", chart.title},
              {"unit", chart.unit},
              {"across", chart.across},
              {"seconds", std::move(seconds)},
              {"lines", std::move(lines)},
              {"left_out", chart.lines.size() - shown},
              {"group", group}};
    if (chart.top) told["top"] = *chart.top;
    return told;
}

// What the script draws; all else is markup.
Json json_of(const Page& page) {
    const std::size_t most_points = points_allowed(page);
    Json sections = Json::array();
    for (const Section& section : page.sections) {
        Json charts = Json::array();
        for (const Chart& chart : section.charts) charts.push_back(json_of(chart, most_points));
        sections.push_back({{"charts", std::move(charts)}});
    }
    return {{"sections", std::move(sections)}};
}

// JSON as it may stand in an element <script>: nothing in it ends the element or begins a comment.
// These characters stand only within strings of JSON.
std::string for_script(const std::string& json) {
    std::string safe;
    safe.reserve(json.size());
    for (const char c : json) {
        switch (c) {
            case '<':
                safe += "\\u003c";
                break;
            case '>':
                safe += "\\u003e";
                break;
            case '&':
                safe += "\\u0026";
                break;
            default:
                safe += c;
        }
    }
    return safe;
}

}  // namespace

std::string html(const Page& page) {
    const std::string data =
        json_of(page).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    std::string text;
    std::string_view left = kFrame;
    // In the order in which they stand there; what is put in is not looked at again.
    for (const auto& [mark, content] : {std::pair(kTitleMark, escaped(page.title)),
                                        {kPageMark, markup(page)},
                                        {kDataMark, for_script(data)}}) {
        const std::size_t at = left.find(mark);
        LAMBDA_ASSERT(at != left.npos);
        text.append(left.substr(0, at)).append(content);
        left.remove_prefix(at + std::string_view(mark).size());
    }
    return text.append(left);
}

std::string command_line(int count, const char* const* words) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
    std::string line;
    for (int i = 0; i < count; ++i) {
        const std::string_view word = words[i];
        if (i > 0) line += ' ';
        if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

std::string significant(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return std::isfinite(value) ? text : "-";
}

std::string fixed(double value, int decimals) {
    char text[400];  // the greatest double has 309 digits before the point
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return std::isfinite(value) ? text : "-";
}

Result<File> File::make(const std::string& name) {
    if (name.empty()) return File(nullptr, name);
    std::FILE* const stream = std::fopen(name.c_str(), "we");
    if (stream == nullptr) return errno_error(Fault::file, "cannot write the report", name, errno);
    return File(stream, name);
}

Result<void> File::write(const Page& page) {
    LAMBDA_ASSERT(wanted());
    const std::string text = html(page);
    const bool whole = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
    const int cause = errno;
    if (std::fclose(file_.release()) != 0 || !whole)
        return errno_error(Fault::file, "cannot write the report", name_, whole ? errno : cause);
    return {};
}

}  // namespace lambda::report
