#include "client/left_over.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

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

}  // namespace

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
