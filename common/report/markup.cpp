#include "common/report/markup.h"

#include <algorithm>
#include <cmath>

#include "common/base/ascii.h"
#include "common/base/utf8.h"

namespace lambda::report {
namespace {

constexpr std::size_t kColours = 8;  // of page.css

std::string element(const std::string& tag, std::string_view kind, std::string_view text) {
    return "<" + tag + (kind.empty() ? "" : " class=\"" + std::string(kind) + "\"") + ">" +
           escaped(text) + "</" + tag + ">\n";
}

bool is_number(std::string_view text) {
    if (text.ends_with(" %")) text.remove_suffix(2);
    return text.empty() || text == "-" || text == "nan" ||
           (text.find_first_of("0123456789") != text.npos &&
            text.find_first_not_of("+-.e0123456789") == text.npos);
}

// The ends of cells are left out, as HTML allows; the row's is not, since the last cell would take
// the line's end.
std::string row(const char* tag, const std::vector<std::string>& cells,
                const std::vector<bool>& numeric) {
    std::string text = "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool number = i < numeric.size() && numeric[i];
        text += std::string("<") + tag + (number ? " class=n>" : ">") + escaped(cells[i]);
    }
    return text + "</tr>\n";
}

std::string markup(const Table& table) {
    const std::size_t shown = std::min(table.rows.size(), kMostRows);
    std::vector<bool> numeric;
    for (std::size_t i = 0; i < table.head.size(); ++i) {
        numeric.push_back(std::all_of(table.rows.begin(), table.rows.end(), [i](const auto& cells) {
            return i >= cells.size() || is_number(cells[i]);
        }));
    }
    std::string text = "<div class=\"wide\"><table class=\"summary\"><thead>" +
                       row("th", table.head, numeric) + "</thead><tbody>\n";
    for (std::size_t i = 0; i < shown; ++i) text += row("td", table.rows[i], numeric);
    text += "</tbody></table></div>\n";
    if (table.rows.size() > shown) {
        text += element("p", "text",
                        std::to_string(table.rows.size() - shown) + " more rows are left out.");
    }
    return text;
}

// Shares of a whole, one below the other.
std::string markup(const Bars& bars) {
    std::string text = "<div class=\"bars\">\n" + element("h3", "", bars.title);
    if (!bars.text.empty()) text += element("p", "text", bars.text);
    for (std::size_t i = 0; i < bars.parts.size(); ++i) {
        const Bars::Part& part = bars.parts[i];
        const double share = std::isfinite(part.share) ? std::max(0.0, part.share) : 0;
        text += "<div class=\"bar\"><span>" + escaped(part.name) +
                "</span> <span class=\"track\"><span class=\"fill\" style=\"width:" +
                fixed(100 * std::min(1.0, share), 1) + "%;background:var(--line-" +
                std::to_string(i % kColours) + ")\"></span></span> <span class=\"n\">" +
                fixed(100 * share, 0) + " %</span></div>\n";
    }
    return text + "</div>\n";
}

std::string markup(const Section& section, std::size_t number) {
    std::string text = "<section>\n";
    if (!section.title.empty()) text += element("h2", "", section.title);
    if (!section.text.empty()) text += element("p", "text", section.text);
    for (const Table& table : section.tables) text += markup(table);
    if (!section.bars.empty()) text += "<div class=\"charts\">\n";
    for (std::size_t i = 0; i < std::min(section.bars.size(), kMostBars); ++i)
        text += markup(section.bars[i]);
    if (!section.bars.empty()) text += "</div>\n";
    if (!section.charts.empty()) {
        text += "<div class=\"charts\" data-section=\"" + std::to_string(number) + "\"></div>\n";
    }
    return text + "</section>\n";
}

}  // namespace

std::string markup(const Page& page) {
    std::string text = element("h1", "", page.title);
    if (!page.text.empty()) text += element("p", "text", page.text);
    text += element("pre", "command", page.command);
    for (std::size_t i = 0; i < page.sections.size(); ++i) text += markup(page.sections[i], i);
    return text;
}

std::string escaped(std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
        const char c = sequence.front();
        if (c == '&') {
            safe += "&amp;";
        } else if (c == '<') {
            safe += "&lt;";
        } else if (c == '>') {
            safe += "&gt;";
        } else if (c == '"') {
            safe += "&quot;";
        } else if (length == 0 || (is_control(c) && c != '\n' && c != '\t')) {
            safe += "\xef\xbf\xbd";
        } else {
            safe += sequence;
        }
        text.remove_prefix(sequence.size());
    }
    return safe;
}

}  // namespace lambda::report
