#include "common/io/tree/directory_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "common/io/file/file_error.h"
#include "common/io/file/root.h"

namespace lambda::io {
namespace {

std::size_t cost(const std::string& name) {
    return sizeof(std::string) + (name.size() > 15 ? name.capacity() + 16 : 0);
}

// How many calls gave some; -1: errno tells why. By the call itself, since readdir() takes the
// ENOENT of a directory that was removed while it is read for its end.
template <typename Take>
int read_names(int directory, Take take) {
    alignas(dirent64) std::array<char, 32 * 1024> entries;
    for (int calls = 0;; ++calls) {
        const ssize_t bytes = ::getdents64(directory, entries.data(), entries.size());
        if (bytes <= 0) return bytes == 0 ? calls : -1;
        for (ssize_t at = 0; at < bytes;) {
            const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
            take(std::string(entry->d_name));
            at += entry->d_reclen;
        }
    }
}

constexpr int kMostReads = 4;
// A change sooner after another may leave the same time.
constexpr std::chrono::milliseconds kClockTick{20};

using ChangeTime = std::chrono::nanoseconds;  // since 1970

std::optional<ChangeTime> changed_at(int directory) {
    struct stat status {};
    if (::fstat(directory, &status) != 0) return std::nullopt;
    return std::chrono::seconds(status.st_ctim.tv_sec) +
           std::chrono::nanoseconds(status.st_ctim.tv_nsec);
}

bool was_at_rest(std::optional<ChangeTime> before, std::optional<ChangeTime> after) {
    const ChangeTime now = std::chrono::system_clock::now().time_since_epoch();
    return before && before == after && std::chrono::abs(now - *after) > kClockTick;
}

}  // namespace

std::string joined(const std::string& directory, const std::string& leaf) {
    if (directory.empty() || directory == ".") return leaf;
    return directory.back() == '/' ? directory + leaf : directory + "/" + leaf;
}

DirectoryNames::DirectoryNames(int directory, std::string path, std::size_t portion_bytes)
    : directory_(directory), path_(std::move(path)), portion_bytes_(portion_bytes) {}

Result<std::vector<std::string>> DirectoryNames::next() {
    std::vector<std::string> names;
    if (ended_) return names;
    std::size_t bytes = 0;
    bool cut = false;  // names above `most` were left for later
    std::string most;
    const auto count = [&] {
        bytes = 0;
        for (const std::string& name : names) bytes += cost(name);
    };
    const auto take = [&](std::string name) {
        if (name == "." || name == ".." || (!last_.empty() && name <= last_) ||
            (cut && name > most)) {
            return;
        }
        bytes += cost(name);
        names.push_back(std::move(name));
        if (bytes <= portion_bytes_ || names.size() < 2) return;
        // The lower half stays.
        const auto middle = names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2);
        std::nth_element(names.begin(), middle, names.end());
        names.erase(middle, names.end());
        most = *std::max_element(names.begin(), names.end());
        cut = true;
        count();
    };
    for (int reads = 1;; ++reads) {
        const auto before = changed_at(directory_);
        // A description of its own, so that it begins at the beginning.
        const Descriptor again(::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        const int calls = again ? read_names(again.get(), take) : -1;
        if (calls < 0) return file_error("cannot read the directory", path_, errno);
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        if (calls <= 1 || reads == kMostReads || was_at_rest(before, changed_at(directory_))) break;
        count();
    }
    ended_ = !cut;
    if (!names.empty()) last_ = names.back();
    return names;
}

}  // namespace lambda::io
