#include "common/io/directory_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "common/io/open_file.h"

namespace lambda::io {
namespace {

std::size_t cost(const std::string& name) {
    return sizeof(std::string) + (name.size() > 15 ? name.capacity() + 16 : 0);
}

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

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
    // A description of its own, so that it begins at the beginning.
    const int again = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseDirectory> stream(again < 0 ? nullptr : ::fdopendir(again));
    if (stream == nullptr) {
        const Error error = file_error("cannot read the directory", path_, errno);
        if (again >= 0) ::close(again);
        return error;
    }
    std::size_t bytes = 0;
    bool cut = false;  // names above `most` were left for later
    std::string most;
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(stream.get());
        if (entry == nullptr) {
            if (errno != 0) return file_error("cannot read the directory", path_, errno);
            break;
        }
        std::string name = entry->d_name;
        if (name == "." || name == ".." || (!last_.empty() && name <= last_) ||
            (cut && name > most)) {
            continue;
        }
        bytes += cost(name);
        names.push_back(std::move(name));
        if (bytes <= portion_bytes_ || names.size() < 2) continue;
        // The lower half stays.
        const auto middle = names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2);
        std::nth_element(names.begin(), middle, names.end());
        names.erase(middle, names.end());
        most = *std::max_element(names.begin(), names.end());
        cut = true;
        bytes = 0;
        for (const std::string& kept : names) bytes += cost(kept);
    }
    std::sort(names.begin(), names.end());
    ended_ = !cut;
    if (!names.empty()) last_ = names.back();
    return names;
}

}  // namespace lambda::io
