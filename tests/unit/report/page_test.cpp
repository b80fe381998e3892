// The page writer: what it is given comes out whole and harmless, and not too large.
#include "common/report/page.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::report;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What stands in the page as data, as it is written.
std::string data_of(const std::string& page) {
    const std::string begin = R"(<script id="data" type="application/json">)";
    const std::size_t from = page.find(begin);
    REQUIRE(from != std::string::npos);
    const std::size_t to = page.find("</script>", from);
    REQUIRE(to != std::string::npos);
    return page.substr(from + begin.size(), to - from - begin.size());
}

nlohmann::json read(const Page& page) {
    return nlohmann::json::parse(data_of(html(page)));
}

Page page_with(Chart chart) {
    return {.title = "t",
            .text = {},
            .command = "c",
            .sections = {{.title = {}, .text = {}, .tables = {}, .charts = {std::move(chart)}}}};
}

std::vector<double> count_to(std::size_t count) {
    std::vector<double> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(i + 1);
    return numbers;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("Hostile texts come out as they went in, and end nothing") {
    const std::string evil =
        "</script><script>alert(1)</script><!--<b>&amp;'\"\\\n\x01\xe2\x80\xa8";
    Page page = page_with({.title = evil, .unit = evil, .seconds = {1}, .lines = {{evil, {2}}}});
    page.title = page.text = page.command = evil;
    page.sections[0].title = page.sections[0].text = evil;
    page.sections[0].tables = {{.head = {evil}, .rows = {{evil}}}};

    const std::string text = html(page);
    const std::string data = data_of(text);
    CHECK(data.find_first_of("<>&") == std::string::npos);
    CHECK(data.find("\xe2\x80\xa8") == std::string::npos);
    // Thrice in the data, and, as they read without a script, in the title, h1, text, command, h2,
    // the section's text, a table's head and row.
    CHECK(count(text, "alert(1)") == 3 + 8);
    CHECK(count(text, "<script") == count(html(Page{}), "<script"));
    CHECK(count(text, "<!--<b>") == 0);
    CHECK(count(text,
                "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--&lt;b&gt;&amp;amp;"
                "'&quot;\\\n\xef\xbf\xbd\xe2\x80\xa8") == 8);

    const auto chart = nlohmann::json::parse(data)["sections"][0]["charts"][0];
    CHECK(chart["title"] == evil);
    CHECK(chart["unit"] == evil);
    CHECK(chart["lines"][0]["name"] == evil);
}

TEST_CASE("Marks of the frame that a text has are text") {
    Page page;
    page.title = "<!--page--><!--data-->";
    const std::string text = html(page);
    CHECK(count(text, "&lt;!--page--&gt;&lt;!--data--&gt;") == 2);
    CHECK(data_of(text) == R"({"sections":[]})");
}

TEST_CASE("Bytes that are no UTF-8 are replaced") {
    Page page = page_with({.title = "a\xff\xc0z", .unit = {}, .seconds = {}, .lines = {}});
    page.title = "a\xff\xc0z";
    CHECK(read(page)["sections"][0]["charts"][0]["title"] == "a\xef\xbf\xbd\xef\xbf\xbdz");
    CHECK(html(page).find("<h1>a\xef\xbf\xbd\xef\xbf\xbdz</h1>") != std::string::npos);
}

TEST_CASE("Tables and bars read without a script") {
    Page page;
    page.sections.push_back({.title = "Cases", .text = "all", .tables = {}, .charts = {}});
    page.sections[0].tables = {{.head = {"case", "Gbit/s", "verdict"},
                                .rows = {{"put, 1 MiB", "0.940", "path_rate"}, {"get", "-1e-3"}}}};
    page.sections[0].bars = {{.title = "put",
                              .text = "held back",
                              .parts = {{"path", 0.914}, {"disk", 1.5}, {"cpu", kNan}}}};
    const std::string text = html(page);
    CHECK(text.find("<tr><th>case<th class=n>Gbit/s<th>verdict</tr>\n") != text.npos);
    CHECK(text.find("<tr><td>put, 1 MiB<td class=n>0.940<td>path_rate</tr>\n") != text.npos);
    CHECK(text.find("<tr><td>get<td class=n>-1e-3</tr>\n") != text.npos);
    CHECK(text.find("width:91.4%") != text.npos);
    CHECK(text.find("<span class=\"n\">91 %</span>") != text.npos);
    CHECK(text.find("width:100.0%") != text.npos);
    CHECK(text.find("<span class=\"n\">150 %</span>") != text.npos);
    CHECK(text.find("<span class=\"n\">0 %</span>") != text.npos);
    CHECK(text.find("data-section=\"") == text.npos);
}

TEST_CASE("What is no finite number is a gap") {
    const auto chart = read(page_with({.title = {},
                                       .unit = {},
                                       .seconds = {1, 2, 3, 4},
                                       .lines = {{"a", {kNan, 1.23456789, kInfinity, -kInfinity}}},
                                       .top = 100}))["sections"][0]["charts"][0];
    CHECK(chart["lines"][0]["values"] == nlohmann::json::parse("[null, 1.2346, null, null]"));
    CHECK(chart["seconds"] == nlohmann::json::parse("[1, 2, 3, 4]"));
    CHECK(chart["top"] == 100);
    CHECK(chart["group"] == 1);
}

TEST_CASE("Pages and charts of nothing") {
    CHECK(read(Page{})["sections"].empty());
    const auto none = read(page_with({.title = "e", .unit = "u", .seconds = {}, .lines = {}}));
    CHECK(none["sections"][0]["charts"][0]["lines"].empty());
    CHECK(none["sections"][0]["charts"][0]["seconds"].empty());
    CHECK_FALSE(none["sections"][0]["charts"][0].contains("top"));
    const auto lines =
        read(page_with({.title = "e", .unit = "u", .seconds = {}, .lines = {{"a", {}}}}));
    CHECK(lines["sections"][0]["charts"][0]["lines"][0]["values"].empty());
}

TEST_CASE("Long lines are thinned to means, up to their end") {
    const std::size_t points = 2 * kMostPoints + 1;
    std::vector<double> values = count_to(points);
    values[0] = kNan;  // the mean of the group is of the other
    const auto chart = read(page_with({.title = {},
                                       .unit = {},
                                       .seconds = count_to(points),
                                       .lines = {{"a", values}}}))["sections"][0]["charts"][0];
    CHECK(chart["group"] == 3);
    const auto& seconds = chart["seconds"];
    const auto& thinned = chart["lines"][0]["values"];
    REQUIRE(seconds.size() == (points + 2) / 3);
    REQUIRE(thinned.size() == seconds.size());
    CHECK(thinned[0] == 2.5);
    CHECK(thinned[1] == 5);
    CHECK(seconds[0] == 3);
    CHECK(seconds.back() == static_cast<double>(points));
    CHECK(thinned.back() == static_cast<double>(points) - 1);
}

TEST_CASE("Of many lines and rows some are left out, evenly, and counted") {
    Chart chart{.title = {}, .unit = {}, .seconds = {1}, .lines = {}};
    Table table{.head = {"number"}, .rows = {}};
    for (std::size_t i = 0; i < 10 * kMostLines; ++i) {
        chart.lines.push_back({std::to_string(i), {static_cast<double>(i)}});
        table.rows.push_back({std::to_string(i)});
    }
    Page page = page_with(chart);
    page.sections[0].tables = {table};
    const auto told = read(page)["sections"][0]["charts"][0];
    REQUIRE(told["lines"].size() == kMostLines);
    CHECK(told["left_out"] == 9 * kMostLines);
    CHECK(told["lines"][0]["name"] == "0");
    CHECK(told["lines"][1]["name"] == "10");
    const std::string text = html(page);
    CHECK(count(text, "<tr>") == 1 + kMostRows);
    CHECK(count(text, std::to_string(10 * kMostLines - kMostRows) + " more rows are left out") ==
          1);
}

TEST_CASE("A page of very much is below 3 MB") {
    Page page;
    for (int run = 0; run < 64; ++run) {
        Section section;
        section.tables.push_back({.head = {"a", "b", "c", "d"}, .rows = {}});
        section.tables[0].rows.assign(1024, {"sabul2003", "-123.456", "0.1234", "12345678"});
        for (int i = 0; i < 6; ++i) {
            Chart chart{.title = "chart", .unit = "unit", .seconds = count_to(100), .lines = {}};
            chart.lines.assign(32, {"a line", std::vector<double>(100, -0.00123456789)});
            section.charts.push_back(std::move(chart));
        }
        page.sections.push_back(std::move(section));
    }
    const std::size_t bytes = html(page).size();
    CHECK(bytes < 3'000'000);
    CHECK(bytes > 1'000'000);
}

TEST_CASE("The command is what a shell takes") {
    const char* const words[] = {"lambda-sim", "flows", "--flow", "law=sabul,rtt=1ms", "sh -c", "",
                                 "it's",       "$HOME", "a\nb"};
    CHECK(command_line(9, words) ==
          "lambda-sim flows --flow law=sabul,rtt=1ms 'sh -c' '' 'it'\\''s' '$HOME' 'a\nb'");
    CHECK(command_line(0, words).empty());
}

TEST_CASE("A file that cannot be written is said with path and cause") {
    const auto missing = File::make("/no/such/folder/report.html");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().fault == Fault::file);
    CHECK(missing.error().path == "/no/such/folder/report.html");
    CHECK(missing.error().message == "cannot write the report: No such file or directory");

    auto full = File::make("/dev/full");
    REQUIRE(full.ok());
    const auto written = full->write(Page{});
    REQUIRE_FALSE(written.ok());
    CHECK(written.error().path == "/dev/full");
    CHECK(written.error().message == "cannot write the report: No space left on device");
}

TEST_CASE("What is written is the page") {
    const auto name = std::filesystem::temp_directory_path() /
                      ("lambda-report-" + std::to_string(::getpid()) + ".html");
    auto file = File::make(name.string());
    REQUIRE(file.ok());
    const Page page = page_with({.title = "a", .unit = "b", .seconds = {1}, .lines = {{"c", {1}}}});
    REQUIRE(file->write(page).ok());
    std::stringstream content;
    content << std::ifstream(name).rdbuf();
    std::filesystem::remove(name);
    CHECK(content.str() == html(page));
    CHECK(content.str().find("Permission is hereby granted") != std::string::npos);
}
