#include "client/left_over.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>

#include "client/home.h"

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

// Whether what a source is called says which names are of it.
bool named(const Item& item) {
    return !item.pattern && item.name != ".";
}

// Whether a name that failed is of this named source.
bool concerns(const std::string& name, const Item& item) {
    return name == item.name || name == item.path || name.starts_with(item.name + "/");
}

}  // namespace

std::vector<std::string> undone(const Plan& plan, const mover::Outcome& outcome) {
    std::vector<std::string> sources;
    if (!outcome.cut && outcome.failed == 0) return sources;
    const bool all_known = !outcome.cut && outcome.failed == outcome.failures.size();
    const std::set<std::string> done(outcome.done.begin(), outcome.done.end());
    std::set<std::string> failed;  // of named sources
    bool others = !all_known;      // something that may be of any other
    for (const mover::FileFailure& failure : outcome.failures) {
        const auto item = std::find_if(plan.items.begin(), plan.items.end(), [&](const Item& each) {
            return named(each) && !done.contains(each.name) && concerns(failure.name, each);
        });
        if (item != plan.items.end()) {
            failed.insert(item->name);
        } else {
            others = true;
        }
    }
    for (const Item& item : plan.items) {
        if (done.contains(item.name)) continue;
        if (named(item) ? !all_known || failed.contains(item.name) : others)
            sources.push_back(item.argument);
    }
    return sources;
}

Result<std::string> write_left_over(const std::string& file,
                                    const std::vector<std::string>& sources) {
    auto path = file.empty() ? fresh_file() : Result<std::string>(file);
    if (!path) return path;
    std::string content;
    for (const std::string& source : sources) (content += source) += '\0';
    if (auto written = write_output(*path, content); !written) return written.error();
    return path;
}

Result<void> empty_left_over(const std::string& file) {
    struct stat status {};
    if (file.empty() || ::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size == 0)
        return {};
    return write_output(file, {});
}

}  // namespace lambda::client
