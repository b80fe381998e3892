#include "client/left_over.h"

#include <unistd.h>

#include <ctime>

#include "client/home.h"

namespace lambda::client {
namespace {

Result<std::string> fresh_file() {
    const std::string directory = state_directory();
    if (auto made = make_directories(directory); !made) return made.error();
    const std::time_t time = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    char name[64];
    std::strftime(name, sizeof name, "/left-over-%Y%m%dT%H%M%SZ-", &utc);
    return directory + name + std::to_string(::getpid());
}

}  // namespace

Result<std::string> write_left_over(const std::string& file,
                                    const std::vector<std::string>& sources) {
    auto path = file.empty() ? fresh_file() : Result<std::string>(file);
    if (!path) return path;
    std::string content;
    for (const std::string& source : sources) (content += source) += '\0';
    if (auto written = write_atomically(*path, content); !written) return written.error();
    return path;
}

}  // namespace lambda::client
