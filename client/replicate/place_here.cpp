#include "client/replicate/place_here.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "client/remote/place.h"
#include "client/replicate/load.h"
#include "client/replicate/scan.h"
#include "common/base/name_parts.h"
#include "common/io/file/target_name.h"

namespace lambda::client::replicate {
namespace {

constexpr int kDirectory = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Nothing, where it does not stand.
There unseen(const std::string& path, int error_number) {
    if (error_number == ENOENT || error_number == ENOTDIR) return {};
    return std::make_shared<const Error>(
        errno_error(Fault::file, "cannot look at", path, error_number));
}

}  // namespace

void HeldDirectory::name(Error& error) const {
    if (error.path == path) error.path = text;
    if (error.path.starts_with(path + "/")) error.path.replace(0, path.size(), text);
}

There PlaceHere::stand_itself() const {
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 || ::lstat(path_.c_str(), &status) == 0)
        return standing_of(status);
    return unseen(path_, errno);
}

There PlaceHere::stand(const std::string& name) {
    if (name == ".") return stand_itself();
    if (!base_) base_ = io::Descriptor(::open(path_.c_str(), kDirectory));
    if (!base_) return unseen(path_, errno);
    const std::string above = directory_of(name);
    if (last_name_ != above) {
        last_ = io::Descriptor(io::open_unfollowed(base_.get(), above, kDirectory));
        last_error_ = last_ ? 0 : errno;
        last_name_ = above;
    }
    if (!last_) return unseen(joined(path_, name), last_error_);
    struct stat status {};
    if (::fstatat(last_.get(), base_name(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        return standing_of(status);
    }
    return unseen(joined(path_, name), errno);
}

Result<HeldDirectory> PlaceHere::hold(const std::string& below) const {
    // The directory of a name in it.
    auto place = io::place_of(io::Root::machine(), {path_, joined(below, "x")}, true);
    if (!place) return place.error();
    const int fd = place->directory.get();
    return HeldDirectory{.directory = std::move(place->directory),
                         .path = "/proc/self/fd/" + std::to_string(fd),
                         .text = joined(path_, below)};
}

}  // namespace lambda::client::replicate
