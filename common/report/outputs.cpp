#include "common/report/outputs.h"

#include <filesystem>

namespace lambda::report {
namespace {

namespace fs = std::filesystem;

// Or will be one.
bool is_file(const std::string& name) {
    std::error_code unknown;
    const fs::file_status status = fs::status(name, unknown);
    return !fs::exists(status) || fs::is_regular_file(status);
}

}  // namespace

bool one_file(const std::string& one, const std::string& other) {
    std::error_code unknown;
    if (fs::equivalent(one, other, unknown)) return true;
    const auto place = [&](const std::string& name) {
        return fs::weakly_canonical(fs::absolute(name, unknown), unknown);
    };
    const fs::path first = place(one);
    return !first.empty() && first == place(other);
}

Result<void> check_apart(std::initializer_list<Output> outputs) {
    for (auto later = outputs.begin(); later != outputs.end(); ++later) {
        if (later->file.empty() || !is_file(later->file)) continue;
        for (auto earlier = outputs.begin(); earlier != later; ++earlier) {
            if (earlier->file.empty() || !one_file(earlier->file, later->file)) continue;
            return Error{.fault = Fault::usage,
                         .message = std::string(earlier->option) + " and " + later->option +
                                    " are one file, of which the one would take the other's place",
                         .path = later->file,
                         .side = Side::local,
                         .remedy = "give one of them another name"};
        }
    }
    return {};
}

}  // namespace lambda::report
