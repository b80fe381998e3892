#include "client/home/marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "client/home/home.h"
#include "common/base/hex.h"
#include "common/io/file/replace_file.h"
#include "common/io/file/small_file.h"
#include "common/transfer/digest.h"

namespace lambda::client {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 32;

// Also what a killed process left behind of one.
bool is_mark(const std::string& name) {
    return name.size() >= kHashDigits && all_hex(std::string_view(name).substr(0, kHashDigits));
}

}  // namespace

std::string Marks::file_of(const std::string& known_by) const {
    const auto digest = transfer::leaf_digest(std::as_bytes(std::span(known_by)));
    return directory_ + "/" + to_hex(digest);
}

std::string Marks::head_of(const std::string& known_by) const {
    return title_ + "\n" + known_by + "\n";
}

std::optional<std::string> Marks::find(const std::string& known_by, std::time_t now) const {
    const std::string file = file_of(known_by);
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    if (now - status.st_mtime > kLongest) return std::nullopt;
    const std::string head = head_of(known_by);
    const auto content = io::read_small_file(file, head.size() + kMostText);
    if (!content || !content->starts_with(head)) return std::nullopt;
    return content->substr(head.size());
}

Result<void> Marks::keep(const std::string& known_by, const std::string& text,
                         std::time_t now) const {
    if (auto made = make_directories(directory_); !made) return made.error();
    const std::string content = head_of(known_by) + text;
    auto written = io::replace_file(file_of(known_by), std::as_bytes(std::span(content)), 0600);
    if (written) remove_old(now);
    return written;
}

void Marks::renew(const std::string& known_by) const {
    ::utimensat(AT_FDCWD, file_of(known_by).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void Marks::drop(const std::string& known_by) const {
    ::unlink(file_of(known_by).c_str());
}

void Marks::remove_old(std::time_t now) const {
    std::vector<std::pair<std::time_t, std::string>> marks;
    std::error_code failed;
    for (fs::directory_iterator each(directory_, failed), end; !failed && each != end;
         each.increment(failed)) {
        struct stat status {};
        if (!is_mark(each->path().filename()) || ::lstat(each->path().c_str(), &status) != 0)
            continue;
        marks.emplace_back(status.st_mtime, each->path());
    }
    std::sort(marks.begin(), marks.end());
    std::size_t left = marks.size();
    for (const auto& [time, file] : marks) {
        if (left <= kMost && now - time <= kLongest) break;
        ::unlink(file.c_str());
        --left;
    }
}

}  // namespace lambda::client
