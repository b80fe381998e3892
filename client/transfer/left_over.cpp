#include "client/transfer/left_over.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>

#include "client/home/home.h"

namespace lambda::client {
namespace {

constexpr std::string_view kPrefix = "left-over-";
constexpr std::size_t kMostKept = 100;

// Best effort: the newest stay, as their names have it.
void forget_old(const std::string& directory) {
    std::error_code problem;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
        if (entry.path().filename().string().starts_with(kPrefix)) files.push_back(entry.path());
    }
    if (files.size() < kMostKept) return;
    std::sort(files.begin(), files.end());
    files.resize(files.size() - kMostKept + 1);
    for (const auto& file : files) std::filesystem::remove(file, problem);
}

Result<std::string> fresh_file() {
    const std::string directory = state_directory();
    if (auto made = make_directories(directory); !made) return made.error();
    forget_old(directory);
    const std::time_t time = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    char name[64];
    std::strftime(name, sizeof name, "%Y%m%dT%H%M%SZ-", &utc);
    return directory + "/" + std::string(kPrefix) + name + std::to_string(::getpid());
}

Error lost(Error error) {
    error.message = "the list of what was not done is lost: " + error.message;
    if (error.remedy.empty()) error.remedy = "give it a place by --left-over FILE";
    return error;
}

// Whether what a source is called says which names are of it.
bool named(const Item& item) {
    return !item.pattern && item.name != ".";
}

bool within(const std::string& path, const std::string& top) {
    return path == top || path.starts_with(top.ends_with('/') ? top : top + "/");
}

// Whether what failed is of this source, or may be. Of a put it says where it is read.
bool concerns(const Plan& plan, const mover::FileFailure& failure, const Item& item) {
    const Error& error = failure.error;
    const bool read_here = plan.direction == session::Direction::put && error.side == Side::local &&
                           std::any_of(plan.items.begin(), plan.items.end(), [&](const Item& each) {
                               return within(error.path, each.path);
                           });
    if (read_here) return within(error.path, item.path);
    return !named(item) || failure.name == item.path || within(failure.name, item.name);
}

// Whether what an outcome names may be more than one of the sources.
bool ambiguous(const Plan& plan) {
    std::set<std::string_view> names;
    return std::any_of(plan.items.begin(), plan.items.end(), [&](const Item& item) {
        const bool fresh = names.insert(item.name).second;
        return !fresh || (item.path != item.name && !names.insert(item.path).second);
    });
}

}  // namespace

std::vector<std::string> undone(const Plan& plan, const mover::Outcome& outcome) {
    std::vector<std::string> sources;
    if (!outcome.cut && outcome.failed == 0) return sources;
    // Whatever it was called on the way: what the server knew of it may have made it its contents.
    if (plan.items.size() == 1) return {plan.items.front().argument};
    const bool all_known = !outcome.cut && outcome.failed == outcome.failures.size();
    std::set<std::string> done(outcome.done.begin(), outcome.done.end());
    for (const mover::FileFailure& failure : outcome.failures) done.erase(failure.name);
    if (ambiguous(plan)) done.clear();
    for (const Item& item : plan.items) {
        if (done.contains(item.name)) continue;
        const bool failed =
            !all_known || std::any_of(outcome.failures.begin(), outcome.failures.end(),
                                      [&](const mover::FileFailure& failure) {
                                          return concerns(plan, failure, item);
                                      });
        if (failed) sources.push_back(item.argument);
    }
    return sources;
}

bool drop_settled(Plan& plan, const mover::Outcome& outcome) {
    std::set<std::string> settled(outcome.done.begin(), outcome.done.end());
    for (const mover::FileFailure& failure : outcome.failures) {
        if (failure.error.fault != Fault::cut) settled.insert(failure.name);
    }
    const bool of_trees = std::any_of(plan.items.begin(), plan.items.end(),
                                      [](const Item& item) { return !named(item); }) ||
                          std::any_of(settled.begin(), settled.end(), [](const std::string& name) {
                              return name.find('/') != name.npos;
                          });
    if (of_trees || ambiguous(plan)) return false;
    std::erase_if(plan.items, [&](const Item& item) {
        return settled.contains(item.name) || settled.contains(item.path);
    });
    return true;
}

Result<void> check_left_over(const std::string& file) {
    if (file.empty()) return {};
    const OutputPlace place = output_place(file);
    const auto refused = [&](int error_number, std::string remedy) {
        Error error = errno_error(Fault::usage, "the list of what is left over cannot be written",
                                  file, error_number);
        error.remedy = std::move(remedy);
        return error;
    };
    const char* const elsewhere = "name a file in a directory that is there and may be written to";
    struct stat status {};
    if (!place.replaced) {
        if (::stat(place.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
            return refused(EISDIR, elsewhere);
        if (::faccessat(AT_FDCWD, place.path.c_str(), W_OK, AT_EACCESS) == 0) return {};
        return refused(errno, "name a file, or a pipe or device that may be written to");
    }
    const std::string parent = std::filesystem::path(place.path).parent_path().string();
    const std::string directory = (parent.empty() ? "." : parent) + "/.";
    if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    return refused(errno, elsewhere);
}

Result<std::string> write_left_over(const std::string& file,
                                    const std::vector<std::string>& sources) {
    auto path = file.empty() ? fresh_file() : Result<std::string>(file);
    if (!path) return lost(path.error());
    std::string content;
    for (const std::string& source : sources) (content += source) += '\0';
    if (auto written = write_output(*path, content); !written) return lost(written.error());
    return path;
}

Result<void> empty_left_over(const std::string& file) {
    struct stat status {};
    if (file.empty() || ::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size == 0)
        return {};
    return write_output(file, {});
}

void keep_left_over(const std::string& file, const std::vector<std::string>& sources,
                    Report& report) {
    if (sources.empty()) {
        if (auto emptied = empty_left_over(file); !emptied) report.error(emptied.error());
        return;
    }
    const auto written = write_left_over(file, sources);
    if (!written) return report.error(written.error());
    report.left_over(*written);
    report.say("what was not done is listed in " + *written);
}

}  // namespace lambda::client
