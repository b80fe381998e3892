// What stands at a target and stays: it gets its attributes, or is kept as it is.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/open_file.h"
#include "common/io/file/partial_name.h"
#include "common/io/file/target_name.h"
#include "common/io/tree/target_tree.h"

namespace lambda::io {
namespace {

Result<void> as_it_stood(const struct stat& status, const ports::FileMetadata& metadata,
                         std::int64_t stood_ns, const std::string& path) {
    if (static_cast<std::uint64_t>(status.st_size) == metadata.size &&
        nanoseconds_of(status.st_mtim) == stood_ns)
        return {};
    return Error{.fault = Fault::file,
                 .message = "the file changed while it was compared",
                 .path = path,
                 .side = Side::local,
                 .remedy = "run the transfer again when nobody writes it"};
}

}  // namespace

Result<Made> TargetTree::mend_one(const ports::TargetName& target,
                                  const ports::FileMetadata& metadata, std::int64_t stood_ns) {
    auto opened = open_to_mend(target, metadata, stood_ns);
    if (!opened) return opened.error();
    Made mended;
    mended.path = target.text();
    mended.opened = *std::move(opened);
    struct stat status {};
    if (::fstat(mended.opened.get(), &status) != 0)
        return file_error("cannot look at", mended.path, errno);
    if (auto stood = as_it_stood(status, metadata, stood_ns, mended.path); !stood)
        return stood.error();
    mended.device = status.st_dev;
    const int entry = mended.opened.get();
    const auto applied = target.below.empty()
                             ? apply_named(root_, entry, metadata, mended.path)
                             : apply({.descriptor = entry}, metadata, rights_.set_id, mended.path);
    if (!applied) return applied.error();
    mended.unowned = !*applied;
    return mended;
}

// One that changed keeps its mode, too.
Result<Descriptor> TargetTree::open_to_mend(const ports::TargetName& target,
                                            const ports::FileMetadata& metadata,
                                            std::int64_t stood_ns) const {
    const std::string path = target.text();
    if (target.below.empty()) return root_.open(path, O_RDONLY | O_NONBLOCK);
    const auto place = place_of(root_, target, false);
    if (!place) return place.error();
    const int directory = place->directory.get();
    const Descriptor found(
        ::openat(directory, place->leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0)
        return file_error("cannot look at", path, errno);
    if (!S_ISREG(status.st_mode)) return file_error("cannot set the mode", path, ESTALE);
    if (auto stood = as_it_stood(status, metadata, stood_ns, path); !stood) return stood.error();
    const std::string magic = "/proc/self/fd/" + std::to_string(found.get());
    const auto open = [&] { return Descriptor(::open(magic.c_str(), O_RDONLY | O_CLOEXEC)); };
    Descriptor opened = open();
    if (!opened && errno == EACCES && ::chmod(magic.c_str(), (status.st_mode & 0777) | 0400) == 0)
        opened = open();
    if (!opened) return file_error("cannot open", path, errno);
    return opened;
}

Result<Made> TargetTree::keep_one(const ports::TargetName& target) {
    auto place = place_to_keep(target);
    if (!place) return place.error();
    Made kept;
    kept.path = target.text();
    // Of a transfer that was killed while this one was made. One that is being written stays.
    (void)free_partial(place->directory->opened.get(), partial_name(place->leaf), kept.path);
    kept.directory = std::move(place->directory);
    kept.device = kept.directory->device;
    kept.leaf = std::move(place->leaf);
    kept.stays = true;
    return kept;
}

Result<TargetDirectories::Place> TargetTree::place_to_keep(const ports::TargetName& target) {
    if (!target.below.empty()) return directories_.place(target);
    auto named = place_behind_links(root_, target.base, false);
    if (!named) return named.error();
    auto directory = std::make_shared<TargetDirectories::Directory>();
    directory->opened = std::move(named->place.directory);
    struct stat status {};
    if (::fstat(directory->opened.get(), &status) != 0)
        return file_error("cannot look at", target.base, errno);
    directory->device = status.st_dev;
    return TargetDirectories::Place{std::move(directory), std::move(named->place.leaf)};
}

}  // namespace lambda::io
