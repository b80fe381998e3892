#include "client/transfer/rate_schedule.h"

#include <algorithm>

#include "client/home/home.h"
#include "client/home/trimmed.h"
#include "common/io/file/small_file.h"
#include "config/schema.h"

namespace lambda::client {
namespace {

constexpr std::size_t kFileLimit = 16 * 1024;

bool same(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// The first line that is neither empty nor a comment.
std::string rule_in(std::string_view content) {
    while (!content.empty()) {
        const std::string_view line = content.substr(0, content.find('\n'));
        content.remove_prefix(std::min(line.size() + 1, content.size()));
        const std::string_view rule = trimmed(line);
        if (!rule.empty() && rule.front() != '#') return std::string(rule);
    }
    return {};
}

}  // namespace

RateSchedule::RateSchedule(const config::ClientSettings& settings, std::string rate_file)
    : file_(std::move(rate_file)), rate_(settings.rate_limit), hours_(settings.rate_hours) {}

Result<void> RateSchedule::look() {
    if (file_.empty()) return {};
    const auto fault = [this](Error error) -> Result<void> {
        if (error.sentence() == told_) return {};
        told_ = error.sentence();
        return error;
    };
    struct stat status {};
    if (::stat(file_.c_str(), &status) != 0)
        return fault(errno_error(Fault::file, "cannot look at", file_, errno));
    // A pipe gives its rule once: to wait for another would hold the transfer up.
    const bool looked = seen_.st_ino != 0;
    if (same(status, seen_) || (looked && !S_ISREG(status.st_mode))) return {};
    const auto content = io::read_small_file(file_, kFileLimit);
    if (!content) return fault(content.error());
    seen_ = status;
    config::ClientSettings read;
    if (const auto wrong = config::read_rate_limit(rule_in(*content), read)) {
        return fault(Error{.fault = Fault::usage,
                           .message = *wrong,
                           .path = file_,
                           .side = Side::local,
                           .remedy = "write a rate, none, or a timetable; until then the limit "
                                     "stays as it was"});
    }
    told_.clear();
    rate_ = read.rate_limit;
    hours_ = read.rate_hours;
    return {};
}

BitRate RateSchedule::limit(int minute) const {
    return lower(rate_, hours_.at(minute));
}

}  // namespace lambda::client
