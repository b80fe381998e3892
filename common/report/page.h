// A page of tables, charts and bars: one HTML file that needs nothing else, legible in light
// and dark. Texts may hold anything; what is no UTF-8 is replaced. A page keeps below 3 MB: of a
// chart with more lines than can be told apart some are left out, of long lines points are put
// together to their mean, and the page says so.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace lambda::report {

struct Line {
    std::string name;
    std::vector<double> values;  // one for each of the chart's times; not finite: a gap
    std::vector<double> low = {}, high = {};  // a band about them; both empty: none
};

struct Chart {
    std::string title, unit;
    std::vector<double> seconds;  // ascending; or what `across` says
    std::vector<Line> lines;
    std::optional<double> top = {};  // the axis reaches from 0 at least so far
    std::string across = "time, s";
};

struct Table {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
};

// Parts of a whole that may overlap: a bar for each.
struct Bars {
    struct Part {
        std::string name;
        double share = 0;  // 0 to 1; drawn up to 1
    };
    std::string title, text;
    std::vector<Part> parts;
};

struct Section {
    std::string title, text;  // may be empty
    std::vector<Table> tables;
    std::vector<Chart> charts;
    std::vector<Bars> bars = {};
};

struct Page {
    std::string title, text;
    std::string command;  // that made it
    std::vector<Section> sections;
};

constexpr std::size_t kMostLines = 24;     // of a chart; their looks repeat after it
constexpr std::size_t kMostPoints = 4000;  // of a line
constexpr std::size_t kMostRows = 128;
constexpr std::size_t kMostBars = 64;          // of a section
constexpr std::size_t kMostNumbers = 200'000;  // of all charts; a line keeps two points even so

std::string html(const Page& page);

// The words as a shell takes them.
std::string command_line(int count, const char* const* words);

// printf's %.*g and %.*f, for the cells of tables; "-" for what is not finite.
std::string significant(double value, int digits);
std::string fixed(double value, int decimals);

// The file that a page goes to. It is opened before the work that the page tells of begins, so that
// a name that is wrong is known at once. Errors (Fault::file) have path and cause.
class File {
  public:
    // An empty name: nobody wants a page.
    static Result<File> make(const std::string& name);
    bool wanted() const { return file_ != nullptr; }
    // Once, where it is wanted.
    Result<void> write(const Page& page);

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    File(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}

    std::unique_ptr<std::FILE, Close> file_;
    std::string name_;
};

}  // namespace lambda::report
