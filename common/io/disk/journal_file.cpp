// The journal beside a partial file, and the search for what cut transfers left.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/io/clock.h"
#include "common/io/file/file_error.h"
#include "common/io/file/flush.h"
#include "common/io/file/open_file.h"
#include "common/io/file/partial_name.h"
#include "common/io/file/read_full.h"
#include "common/io/file/write_all.h"

namespace lambda::io {
namespace {

// More than any journal has: what is longer is none.
constexpr off_t kMostJournalBytes = 2 << 20;
// A search that takes longer than this costs more than asking for each file does.
constexpr std::size_t kMostLooked = 20'000;
// The data of so long may move again after a power loss; each flush waits for the disk once more.
constexpr Duration kFlushJournalEvery = std::chrono::seconds(1);

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory read_directory(Descriptor descriptor) {
    Directory directory(::fdopendir(descriptor.get()));
    if (directory) descriptor.release();
    return directory;
}

// Also true where there is too much to look at, or what cannot be looked through.
bool any_partial(Descriptor start) {
    std::vector<Directory> open;
    open.push_back(read_directory(std::move(start)));
    for (std::size_t looked = 0; !open.empty(); ++looked) {
        if (looked == kMostLooked || open.size() > 64 || !open.back()) return true;
        const dirent* entry = ::readdir(open.back().get());
        if (entry == nullptr) {
            open.pop_back();
            continue;
        }
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        const bool kept = name.ends_with(kPartialEnd) || name.ends_with(kJournalEnd);
        if (kept && ports::is_partial_name(name)) return true;
        // The partial file of a link's target lies beside that.
        if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) return true;
        if (entry->d_type != DT_DIR) continue;
        open.push_back(
            read_directory(Descriptor(::openat(::dirfd(open.back().get()), entry->d_name,
                                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))));
    }
    return false;
}

}  // namespace

bool find_partials(const Root& root, const std::string& path, bool below) {
    // A tree that was cut made a directory of what is not understood as one.
    if (auto directory = root.open(path, O_RDONLY | O_DIRECTORY))
        return any_partial(std::move(*directory));
    if (below) return false;
    const auto place = root.place(path, false);
    if (!place) return false;
    const int directory = place->directory.get();
    struct stat status {};
    if (::fstatat(directory, place->leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode)) {
        return true;
    }
    const std::string partial = partial_name(place->leaf);
    return ::fstatat(directory, partial.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ||
           ::fstatat(directory, journal_name(partial).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<std::byte> open_journal(OpenFile& target) {
    Descriptor file(::openat(target.place.directory.get(), journal_name(target.partial).c_str(),
                             O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_nlink != 1 || status.st_size > kMostJournalBytes) {
        return {};
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    // Of one that cannot be read to its end counts what was read, as after a torn write.
    bytes.resize(read_full(file.get(), bytes, 0).length);
    target.journal = std::move(file);
    return bytes;
}

void remove_journal(OpenFile& target) {
    ::unlinkat(target.place.directory.get(), journal_name(target.partial).c_str(), 0);
    target.journal = {};
}

Result<void> sync(OpenFile& target, std::uint64_t offset, ByteView image) {
    const bool range = target.kind == OpenFile::Kind::range;
    if (target.kind != OpenFile::Kind::partial && !range) return {};
    if (::fdatasync(target.plain.get()) != 0) return file_error("cannot flush", target.path, errno);
    if (!target.locked) return {};  // it moves whole, or again
    const bool first = !target.journal;
    if (first) {
        // Whatever stands there is not ours, or of a partial file that is gone.
        const std::string name = journal_name(target.partial);
        ::unlinkat(target.place.directory.get(), name.c_str(), 0);
        target.journal =
            Descriptor(::openat(target.place.directory.get(), name.c_str(),
                                O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600));
        if (!target.journal)
            return file_error("cannot make its journal " + name, target.path, errno);
    }
    const auto written =
        write_all(target.journal.get(), image, target.path, offset, "cannot write its journal");
    if (!written) return written;
    const Time now = Clock().now();
    if (first || now - target.journal_flushed >= kFlushJournalEvery) {
        if (::fdatasync(target.journal.get()) != 0)
            return file_error("cannot flush its journal", target.path, errno);
        target.journal_flushed = now;
    }
    target.keep = true;
    if (first && sync_directory(target.place.directory.get(), target.plain.get()) != 0)
        return file_error("cannot flush its directory", target.path, errno);
    return {};
}

}  // namespace lambda::io
