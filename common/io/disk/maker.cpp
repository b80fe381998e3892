#include "common/io/disk/maker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"
#include "common/io/file/partial_lock.h"
#include "common/io/file/partial_name.h"
#include "common/io/file/virtual_file.h"
#include "common/io/file/write_all.h"

namespace lambda::io {
namespace {

using Kind = ports::Making::Kind;

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kOurs = 0700;  // what it takes to make something in a directory

Error in_the_way(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message = "cannot be made: something else stands there",
                 .path = path,
                 .side = Side::local,
                 .remedy = "remove it"};
}

// By linkat(2): the file system has none, or the two names are of two, or the file has too many.
bool no_further_name(int error_number) {
    return error_number == EPERM || error_number == EXDEV || error_number == EMLINK ||
           error_number == EOPNOTSUPP || error_number == ENOSYS;
}

enum class Standing { nothing, replaceable, other };  // other: a directory, or not known

Standing standing(int directory, const std::string& name) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? Standing::nothing : Standing::other;
    return S_ISDIR(status.st_mode) ? Standing::other : Standing::replaceable;
}

// Root needs no leave, and nobody else can give himself any in another's directory.
bool is_closed(const struct stat& directory) {
    return (directory.st_mode & kOurs) != kOurs && directory.st_uid == ::geteuid();
}

// For writing, until it is settled. `found`: by O_PATH.
Result<void> open_up(const Root& root, const Descriptor& found, const std::string& path) {
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0)
        return file_error("cannot look at", path, errno);
    if (is_top(root, status)) return {};
    const std::string magic = "/proc/self/fd/" + std::to_string(found.get());
    if (is_closed(status) && ::chmod(magic.c_str(), (status.st_mode & 07777) | kOurs) != 0)
        return file_error("cannot open the directory for writing", path, errno);
    return {};
}

// What stands there is not made.
Result<bool> stands(const Result<void>& found) {
    if (!found) return found.error();
    return false;
}

// A file that nobody can find before it is whole, which spares its directory a second change. It
// may have `mode` from its beginning. Nothing: the file system can't.
Descriptor nameless_file(int directory, mode_t mode) {
    return Descriptor(::openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode));
}

// The partial file, made by us and locked before anybody else found it. Nothing: not as simple.
Descriptor fresh_partial(const TargetDirectories::Place& place, const std::string& partial,
                         const std::string& path) {
    const int directory = place.directory->opened.get();
    Descriptor file(::openat(directory, partial.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return {};
    const PartialLock lock = lock_partial(file.get(), path);
    const bool ours = lock == PartialLock::held || lock == PartialLock::none;
    if (!ours || !still_named(directory, partial, file.get())) return {};
    return file;
}

// By `link`, in place of what nobody writes any more.
template <typename Link>
Result<void> make_partial(Link link, int directory, const std::string& partial,
                          const std::string& what, const std::string& path) {
    if (link() == 0) return {};
    if (errno == EEXIST) {
        if (auto freed = free_partial(directory, partial, path); !freed) return freed;
        if (link() == 0) return {};
    }
    return file_error(what, path, errno);
}

// Whether both are names of it, also where each name has a number of its own (sshfs).
bool one_file(int directory, const std::string& one, const std::string& other) {
    struct stat a {};
    struct stat b {};
    if (::fstatat(directory, one.c_str(), &a, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::fstatat(directory, other.c_str(), &b, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    const bool alike = S_ISREG(a.st_mode) && a.st_nlink == 1 && b.st_nlink == 1 &&
                       a.st_mode == b.st_mode && a.st_size == b.st_size &&
                       nanoseconds_of(a.st_mtim) == nanoseconds_of(b.st_mtim);
    return same_file(a, b) || alike;
}

// Nothing, and errno.
std::shared_ptr<const TargetDirectories::Directory> itself_as_directory(const Descriptor& opened) {
    auto directory = std::make_shared<TargetDirectories::Directory>();
    directory->opened = Descriptor(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 0));
    struct stat status {};
    if (!directory->opened || ::fstat(opened.get(), &status) != 0) return nullptr;
    directory->device = status.st_dev;
    return directory;
}

}  // namespace

Maker::Maker(const Root& root, Done done, std::unique_ptr<Finisher> finisher,
             std::unique_ptr<Workers> thread)
    : root_(root),
      done_(std::move(done)),
      directories_(root, true),
      finisher_(std::move(finisher)),
      thread_(std::move(thread)) {}

Result<std::unique_ptr<Maker>> Maker::start(const Root& root, std::size_t most_jobs, Done done,
                                            std::function<void()> lost) {
    auto finisher = Finisher::make(
        root,
        [done](const Made& made, std::optional<Error> error) {
            ports::DiskEvent event;
            event.tag = made.tag;
            event.error = std::move(error);
            event.unowned = made.unowned;
            done(std::move(event));
        },
        lost);
    if (!finisher) return finisher.error();
    auto thread = Workers::make(1, most_jobs, std::move(lost));
    if (!thread) return thread.error();
    return std::unique_ptr<Maker>(
        new Maker(root, std::move(done), *std::move(finisher), *std::move(thread)));
}

void Maker::make(ports::DiskTag tag, ports::Making making, ByteView content) {
    thread_->post([this, tag, making = std::move(making), content] {
        auto outcome = file_wait_([&] { return make_one(making, content); });
        if (making.returns) done_(ports::DiskEvent{.tag = tag, .returned = true});
        if (outcome && *outcome) {
            (*outcome)->tag = tag;
            return finisher_->put(**std::move(outcome));
        }
        ports::DiskEvent event;
        event.tag = tag;
        if (!outcome) event.error = outcome.error();
        done_(std::move(event));
    });
}

Maker::Outcome Maker::make_one(const ports::Making& making, ByteView content) {
    if (root_.read_only()) {
        return Error{.fault = Fault::file,
                     .message = "this account may only read",
                     .path = making.name.text(),
                     .side = Side::local,
                     .remedy = {}};
    }
    const auto virtual_one = virtual_file(root_, making.name.text());
    if (virtual_one && virtual_one->kind == VirtualFile::Kind::null) return std::optional<Made>();
    switch (making.kind) {
        case Kind::file:
            return make_file(making, content);
        case Kind::directory: {
            const auto entered = enter_directory(making);
            if (!entered) return entered.error();
            return std::optional<Made>();
        }
        case Kind::settle:
            return settle_directory(making);
        case Kind::link:
            return make_link(making);
        case Kind::same:
            return make_same(making);
    }
    return std::optional<Made>();
}

Maker::Outcome Maker::make_file(const ports::Making& making, ByteView content) {
    // What the user named may be a link or a device.
    if (making.name.below.empty()) return make_file_alone(making, content);
    auto place = directories_.place(making.name);
    if (!place) return place.error();
    const int directory = place->directory->opened.get();
    // In a directory of our own making there is nothing to be found. Who puts something there
    // meanwhile is met when the file gets its name.
    const bool ours = place->directory->ours;
    const Standing there = ours ? Standing::nothing : standing(directory, place->leaf);
    if (there == Standing::other) return make_file_alone(making, content);
    Made made;
    made.path = making.name.text();
    made.directory = place->directory;
    made.device = place->directory->device;
    const std::string partial = partial_name(place->leaf);
    // Somebody's partial file, that of a larger file perhaps, is for him or create_target().
    const bool nameless =
        ours || (there == Standing::nothing && standing(directory, partial) == Standing::nothing);
    // Bits that only an owner gives are set once it is his.
    if (nameless) made.opened = nameless_file(directory, making.metadata.mode & 0777);
    made.nameless = static_cast<bool>(made.opened);
    if (!made.opened) {
        made.opened = fresh_partial(*place, partial, made.path);
        if (!made.opened) return make_file_alone(making, content);
        made.partial = partial;
    }
    made.leaf = std::move(place->leaf);
    const int fd = made.opened.get();
    if (const auto written = write_all(fd, content, made.path); !written) return written.error();
    if (content.size() < making.metadata.size &&
        ::ftruncate(fd, static_cast<off_t>(making.metadata.size)) != 0) {
        return file_error("cannot set the size", made.path, errno);
    }
    const auto applied = apply({.descriptor = fd}, making.metadata, gives_set_id(root_), made.path);
    if (!applied) return applied.error();
    made.unowned = !*applied;
    if (making.expected) made.to_read_back = Written{fd, content, *making.expected, made.path};
    return std::optional(std::move(made));
}

// As a large file: through links and into devices that were named, past another writer's partial
// file.
Maker::Outcome Maker::make_file_alone(const ports::Making& making, ByteView content) {
    std::vector<Range> holes;
    if (content.size() < making.metadata.size)
        holes.push_back({content.size(), making.metadata.size});
    auto target = create_target(root_, making.name, making.metadata.size, holes, {});
    if (!target) return target.error();
    Made made;
    made.path = making.name.text();
    made.whole = std::move(target->file);
    made.metadata = making.metadata;
    if (made.whole->kind != OpenFile::Kind::null) {
        const auto written = write_all(made.whole->plain.get(), content, made.path);
        if (!written) return written.error();
    }
    if (making.expected) {
        if (const auto flushed = flush(*made.whole); !flushed) return flushed.error();
        made.to_read_back = Written{made.whole->plain.get(), content, *making.expected, made.path};
    }
    return std::optional(std::move(made));
}

Result<void> Maker::enter_directory(const ports::Making& making) {
    const auto made = make_directory(making);
    if (!made) return made.error();
    directories_.note_entered(making.name, *made);
    return {};
}

Result<bool> Maker::make_directory(const ports::Making& making) {
    const std::string path = making.name.text();
    const mode_t mode = (making.metadata.mode & 0777) | kOurs;
    int parent = -1;
    std::string leaf;
    Root::Place named;
    TargetDirectories::Place below;
    std::optional<Error> unopened;
    if (making.name.below.empty()) {
        const auto found = root_.open(path.empty() ? "." : path, O_PATH | O_DIRECTORY);
        if (found) return stands(open_up(root_, *found, path));
        unopened = found.error();
        auto place = root_.place(path, true);
        if (!place) return place.error();
        named = std::move(*place);
        parent = named.directory.get();
        leaf = named.leaf;
    } else {
        auto place = directories_.place(making.name);
        if (!place) return place.error();
        below = std::move(*place);
        parent = below.directory->opened.get();
        leaf = below.leaf;
    }
    if (::mkdirat(parent, leaf.c_str(), mode) == 0) return true;
    if (errno != EEXIST) return file_error("cannot make the directory", path, errno);
    struct stat status {};
    if (::fstatat(parent, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return file_error("cannot look at", path, errno);
    if (!S_ISDIR(status.st_mode)) {
        if (!making.replaces) return in_the_way(path);
        // A link that the user named is meant to be followed, to a disk that may not be there now.
        if (unopened && S_ISLNK(status.st_mode)) return *unopened;
        if (::unlinkat(parent, leaf.c_str(), 0) == 0 && ::mkdirat(parent, leaf.c_str(), mode) == 0)
            return true;
        return file_error("cannot make the directory", path, errno);
    }
    if (!is_closed(status)) return false;
    return stands(open_up(
        root_, Descriptor(::openat(parent, leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)), path));
}

Maker::Outcome Maker::settle_directory(const ports::Making& making) {
    Made made;
    made.path = making.name.text();
    if (making.name.below.empty()) {
        auto opened = root_.open(made.path.empty() ? "." : made.path, O_RDONLY | O_DIRECTORY);
        if (!opened) return opened.error();
        made.opened = std::move(*opened);
        auto itself = itself_as_directory(made.opened);
        if (!itself) return file_error("cannot look at", made.path, errno);
        made.device = itself->device;
        made.directory = std::move(itself);
    } else {
        const auto place = directories_.place(making.name);
        if (!place) return place.error();
        const int parent = place->directory->opened.get();
        const auto open = [&](int how) {
            return Descriptor(::openat(parent, place->leaf.c_str(), how));
        };
        made.opened = open(kOpenDirectory);
        // Nothing had to be made in it, or it could be without reading it.
        if (!made.opened && errno == EACCES) {
            const auto up = open_up(root_, open(O_PATH | O_NOFOLLOW | O_CLOEXEC), made.path);
            if (!up) return up.error();
            made.opened = open(kOpenDirectory);
        }
        struct stat status {};
        if (!made.opened || ::fstat(made.opened.get(), &status) != 0)
            return file_error("cannot open the directory", made.path, errno);
        made.device = status.st_dev;
        made.directory = place->directory;
    }
    if (auto same = directories_.check_done(making.name, made.opened); !same) return same.error();
    const int directory = made.opened.get();
    const auto applied =
        making.name.below.empty()
            ? apply_named(root_, directory, making.metadata, made.path)
            : apply({.descriptor = directory}, making.metadata, gives_set_id(root_), made.path);
    if (!applied) return applied.error();
    made.unowned = !*applied;
    return std::optional(std::move(made));
}

Maker::Outcome Maker::make_link(const ports::Making& making) {
    const std::string path = making.name.text();
    if (making.name.below.empty()) return in_the_way(path);
    const auto place = directories_.place(making.name);
    if (!place) return place.error();
    const int directory = place->directory->opened.get();
    const std::string partial = partial_name(place->leaf);
    const auto link = [&] { return ::symlinkat(making.text.c_str(), directory, partial.c_str()); };
    auto made = make_partial(link, directory, partial, "cannot make the link", path);
    if (!made) return made.error();
    // By itself: who may write in the directory may put something else under its name.
    const Descriptor made_link(
        ::openat(directory, partial.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!made_link || ::fstat(made_link.get(), &status) != 0) {
        const int error_number = errno;
        ::unlinkat(directory, partial.c_str(), 0);
        return file_error("cannot look at the link", path, error_number);
    }
    if (!S_ISLNK(status.st_mode)) return file_error("somebody replaced the link", path, ESTALE);
    const auto applied = apply({.descriptor = made_link.get(), .link = true}, making.metadata,
                               gives_set_id(root_), path);
    if (!applied) {
        ::unlinkat(directory, partial.c_str(), 0);
        return applied.error();
    }
    return name_link(making.name, *place, partial, !*applied);
}

Maker::Outcome Maker::make_same(const ports::Making& making) {
    const std::string path = making.name.text();
    if (making.name.below.empty() || making.first.below.empty()) return in_the_way(path);
    const auto first = directories_.place(making.first);
    if (!first) return first.error();
    const auto place = directories_.place(making.name);
    if (!place) return place.error();
    const int directory = place->directory->opened.get();
    const std::string partial = partial_name(place->leaf);
    int error_number = 0;
    const auto link = [&] {
        const int result = ::linkat(first->directory->opened.get(), first->leaf.c_str(), directory,
                                    partial.c_str(), 0);
        error_number = errno;
        return result;
    };
    auto made = make_partial(link, directory, partial,
                             "cannot make it another name of " + making.first.text(), path);
    if (!made) {
        Error error = made.error();
        if (no_further_name(error_number))
            error.remedy =
                "where there can be no hard link, move it by its own name, or by `lambda-ftp "
                "replicate`: as a file of its own";
        return error;
    }
    return name_link(making.name, *place, partial, false);
}

Maker::Outcome Maker::name_link(const ports::TargetName& name,
                                const TargetDirectories::Place& place, const std::string& partial,
                                bool unowned) {
    const int directory = place.directory->opened.get();
    const int renamed = ::renameat(directory, partial.c_str(), directory, place.leaf.c_str());
    const int error_number = errno;
    // Where both were names of one file already, the rename left both. Else who makes this file
    // next may have begun one of that name.
    if (renamed != 0 || one_file(directory, partial, place.leaf))
        ::unlinkat(directory, partial.c_str(), 0);
    if (renamed != 0) return file_error("cannot give it its name", name.text(), error_number);
    Made made;
    made.path = name.text();
    made.directory = place.directory;
    made.leaf = place.leaf;
    made.unowned = unowned;
    return std::optional(std::move(made));
}

}  // namespace lambda::io
