#include "common/io/tree/target_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string_view>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"
#include "common/io/file/target_name.h"
#include "common/io/process.h"

namespace lambda::io {
namespace {

using ports::Look;
using ports::Standing;
using ports::TargetEvent;

constexpr std::size_t kMostJobs = 65536;
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// What did not change for so long the kernel has written back by itself: after 30 s, and 10 minutes
// in its laptop mode (Linux, Documentation/admin-guide/laptops/laptop-mode.rst).
constexpr std::int64_t kWrittenBack = std::chrono::nanoseconds(std::chrono::minutes(10)).count();

// By the clock that file systems take their times from.
std::int64_t written_back_before() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return nanoseconds_of(now) - kWrittenBack;
}

std::string base_of(const Look& look) {
    return look.target.base.empty() ? "." : look.target.base;
}

std::string leaf_of(const std::string& below) {
    return below.substr(below.rfind('/') + 1);
}

Standing::Kind kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return Standing::Kind::file;
        case S_IFDIR:
            return Standing::Kind::directory;
        case S_IFLNK:
            return Standing::Kind::link;
        default:
            return Standing::Kind::other;
    }
}

// Whether it holds something that `is_it` says yes of; nothing and errno where it cannot be read.
template <typename IsIt>
std::optional<bool> holds(int directory, IsIt is_it) {
    const int again = ::openat(directory, ".", kOpenDirectory);
    DIR* stream = again < 0 ? nullptr : ::fdopendir(again);
    if (stream == nullptr) {
        if (again >= 0) ::close(again);
        return std::nullopt;
    }
    bool some = false;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
        const std::string_view name = entry->d_name;
        some = name != "." && name != ".." && is_it(name);
        if (some) break;
    }
    const int error_number = some ? 0 : errno;
    ::closedir(stream);
    errno = error_number;
    return error_number == 0 ? std::optional(some) : std::nullopt;
}

// Not, where it may only be searched (open_directory()).
bool is_listed(const Descriptor& directory) {
    return (::fcntl(directory.get(), F_GETFL) & O_PATH) == 0;
}

bool is_link(const Root& root, const std::string& path) {
    const auto place = root.place(path, false);
    struct stat status {};
    return place &&
           ::fstatat(place->directory.get(), place->leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           S_ISLNK(status.st_mode);
}

void note_names(Standing& standing, const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return;
    standing.further = further_names(status);
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // of the few devices of a tree
    standing.file = status.st_ino ^ status.st_dev * kSpread;
}

bool holds_something(int directory) {
    return holds(directory, [](std::string_view) { return true; }).value_or(false);
}

}  // namespace

Result<std::unique_ptr<TargetTree>> TargetTree::make(Root root, Reactor& reactor) {
    auto thread = Workers::make(1, kMostJobs, [&reactor] { reactor.lose_work(); });
    if (!thread) return thread.error();
    return std::unique_ptr<TargetTree>(
        new TargetTree(std::move(root), reactor, *std::move(thread)));
}

TargetTree::TargetTree(Root root, Reactor& reactor, std::unique_ptr<Workers> thread)
    : root_(std::move(root)),
      rights_(rights_in(root_)),
      reactor_(reactor),
      written_back_ns_(written_back_before()),
      directories_(root_, false),
      thread_(std::move(thread)) {}

// Who ends a transfer waits for the job that runs, and for no other.
TargetTree::~TargetTree() {
    stopping_ = true;
    surplus_.stop();
    in_the_way_.stop();
}

// ---- engine thread

void TargetTree::post(std::function<void()> job) {
    thread_->post([this, job = std::move(job)] {
        if (!stopping_) job();
    });
}

void TargetTree::begin(const std::string& path) {
    post([this, path] {
        TargetEvent event;
        const auto opened = root_.open(path.empty() ? "." : path, kOpenDirectory);
        event.holds = opened && holds_something(opened->get());
        done(std::move(event));
    });
}

void TargetTree::seek_extraneous(Kept kept, bool clears) {
    post([this, kept = std::move(kept), clears] {
        kept_ = kept;
        seeks_ = true;
        clears_ = clears;
    });
}

void TargetTree::look(std::vector<Look> looks) {
    post([this, looks = std::move(looks)] { look_all(looks); });
}

void TargetTree::mend(std::uint64_t tag, ports::TargetName target, ports::FileMetadata metadata,
                      std::int64_t stood_ns) {
    post([this, tag, target = std::move(target), metadata = std::move(metadata), stood_ns] {
        finish(tag, mend_one(target, metadata, stood_ns));
    });
}

void TargetTree::keep(std::uint64_t tag, ports::TargetName target) {
    post([this, tag, target = std::move(target)] { finish(tag, keep_one(target)); });
}

void TargetTree::next_extraneous(bool in_the_way, bool remove) {
    post([this, in_the_way, remove] {
        TargetEvent event;
        event.kind = TargetEvent::Kind::extraneous;
        ExtraneousList& list = in_the_way ? in_the_way_ : surplus_;
        if (base_) {
            auto next = list.next(base_.get(), remove, kMostListed);
            if (next) {
                event.list = *std::move(next);
            } else {
                event.error = next.error();
            }
        }
        done(std::move(event));
    });
}

std::vector<TargetEvent> TargetTree::poll() {
    done_.take(taken_);
    return std::move(taken_);
}

// ---- the thread

void TargetTree::done(TargetEvent event) {
    if (done_.put(std::move(event))) reactor_.wake();
}

// Tells of it once it is flushed.
void TargetTree::finish(std::uint64_t tag, Result<Made> made) {
    const auto tell = [this](std::uint64_t of, bool unowned, std::optional<Error> error) {
        TargetEvent event;
        event.kind = TargetEvent::Kind::mended;
        event.tag = of;
        event.unowned = unowned;
        event.error = std::move(error);
        done(std::move(event));
    };
    if (!made) return tell(tag, false, made.error());
    if (finisher_ == nullptr) {
        auto started = Finisher::make(
            root_,
            [tell](const Made& each, std::optional<Error> error) {
                tell(each.tag, each.unowned, std::move(error));
            },
            [this] { reactor_.lose_work(); });
        if (!started) {
            Error error = started.error();
            error.fault = Fault::file;
            error.path = made->path;
            return tell(tag, false, std::move(error));
        }
        finisher_ = *std::move(started);
    }
    made->tag = tag;
    finisher_->put(*std::move(made));
}

void TargetTree::look_all(const std::vector<Look>& looks) {
    TargetEvent event;
    event.kind = TargetEvent::Kind::looked;
    for (const Look& each : looks) {
        ++looked_;
        if (each.step == Look::Step::leave) {
            if (levels_.empty()) continue;
            pass(levels_.back(), nullptr);
            levels_.pop_back();
            continue;
        }
        bool listed = true;
        if (!levels_.empty()) {
            const std::string leaf = leaf_of(each.target.below);
            listed = pass(levels_.back(), &leaf);
        }
        Standing standing;
        if (!each.skipped) standing = look_one(each);
        if (!listed && (each.skipped || standing.kind != Standing::Kind::nothing))
            check_spelling(levels_.back(), each);
        if (each.skipped) continue;
        if (each.step == Look::Step::enter) enter(each, standing);
        event.standings.push_back(std::move(standing));
    }
    tell_unread(event);
    event.error = std::exchange(unlisted_, std::nullopt);
    done(std::move(event));
}

Standing TargetTree::look_one(const Look& look) {
    if (look.target.below.empty()) return look_at_base(look);
    Standing standing;
    if (levels_.empty()) {
        const auto place = place_of(root_, look.target, false);
        if (place) return look_at(look, place->directory.get(), place->leaf);
        if (!root_.absent(base_of(look))) standing.error = place.error();
        return standing;
    }
    const Level& level = levels_.back();
    if (level.opened) return look_at(look, level.opened.get(), leaf_of(look.target.below));
    standing.beneath = level.is_none;
    standing.error = level.error;
    return standing;
}

Standing TargetTree::look_at(const Look& look, int directory, const std::string& leaf) {
    Standing standing;
    struct stat status {};
    if (::fstatat(directory, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            standing.error = file_error("cannot look at", look.name, errno);
        return standing;
    }
    standing.kind = kind_of(status.st_mode);
    note_names(standing, status);
    standing.recent = nanoseconds_of(status.st_ctim) >= written_back_ns_;
    auto metadata = metadata_of({.descriptor = directory, .name = leaf.c_str()}, status,
                                look.archive, look.name);
    if (!metadata) {
        standing.error = metadata.error();
        return standing;
    }
    standing.metadata = *std::move(metadata);
    if (standing.kind == Standing::Kind::link) {
        std::array<char, 4096> text;
        const ssize_t length = ::readlinkat(directory, leaf.c_str(), text.data(), text.size());
        if (length > 0) standing.text.assign(text.data(), static_cast<std::size_t>(length));
    }
    if (look.first) standing.is_first = is_first(look, status);
    const bool blocks = clears_ && look.step == Look::Step::entry && !levels_.empty() &&
                        standing.kind == Standing::Kind::directory;
    if (blocks)
        standing.stays = !gather(in_the_way_, directory, leaf, look.target.below, look.name);
    return standing;
}

// What the user named: a link there is followed.
Standing TargetTree::look_at_base(const Look& look) {
    Standing standing;
    const std::string path = base_of(look);
    const auto status = root_.stat(path, true);
    if (!status) {
        // A file is made behind a link that shows nothing, a directory is not.
        const bool link = look.step == Look::Step::enter && is_link(root_, path);
        if (link) standing.kind = Standing::Kind::link;
        if (link || !root_.absent(path)) standing.error = status.error();
        return standing;
    }
    // Nor behind one that shows a file.
    if (look.step == Look::Step::enter && !S_ISDIR(status->st_mode) && is_link(root_, path)) {
        standing.kind = Standing::Kind::link;
        standing.error = file_error("cannot open", path, ENOTDIR);
        return standing;
    }
    standing.kind = kind_of(status->st_mode);
    note_names(standing, *status);
    standing.fixed = is_top(root_, *status);
    standing.recent = nanoseconds_of(status->st_ctim) >= written_back_ns_;
    standing.metadata = *metadata_of({}, *status, false, look.name);
    if (!look.archive || standing.fixed) return standing;
    const auto opened = root_.open(path, O_RDONLY | O_NONBLOCK);
    auto archived = opened ? archived_of({.descriptor = opened->get()}, *status, look.name)
                           : Result<ports::Archived>(opened.error());
    if (archived) {
        standing.metadata.archived = *std::move(archived);
    } else {
        standing.error = archived.error();
    }
    return standing;
}

bool TargetTree::is_first(const Look& look, const struct stat& status) const {
    if (status.st_nlink < 2) return false;
    const auto place = place_of(root_, *look.first, false);
    struct stat first {};
    return place &&
           ::fstatat(place->directory.get(), place->leaf.c_str(), &first, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           same_file(first, status);
}

void TargetTree::enter(const Look& look, const Standing& standing) {
    Level level;
    level.below = look.target.below;
    level.name = look.name;
    level.error = standing.error;
    level.is_none = standing.beneath;
    const bool at_base = look.target.below.empty();
    if (!level.error && standing.kind == Standing::Kind::directory) {
        auto opened = open_level(look);
        if (opened) {
            level.opened = *std::move(opened);
        } else {
            level.error = opened.error();
            level.error->path = look.name;
            note_unread(*level.error);
        }
    } else if (standing.kind != Standing::Kind::nothing) {
        level.is_none = true;
    }
    // Only what lies below one base is ever removed: that of the first root.
    if (seeks_ && levels_.empty() && !base_ && at_base && level.opened)
        base_ = Descriptor(::fcntl(level.opened.get(), F_DUPFD_CLOEXEC, 0));
    if (seeks_ && base_ && level.opened) {
        if (is_listed(level.opened)) {
            level.names = std::make_unique<DirectoryNames>(level.opened.get(), look.name);
        } else {
            note_unread(file_error("cannot read the directory", look.name, EACCES));
        }
    }
    levels_.push_back(std::move(level));
}

// Each level holds one open: what transfers do without stays spare.
Result<Descriptor> TargetTree::open_level(const Look& look) const {
    auto opened = open_directory(look);
    if (opened && is_spare(opened->get()))
        return file_error("cannot open the directory", look.name, EMFILE);
    return opened;
}

Result<Descriptor> TargetTree::open_directory(const Look& look) const {
    if (look.target.below.empty()) return root_.open(base_of(look), kOpenDirectory);
    Root::Place place;
    if (levels_.empty()) {
        auto found = place_of(root_, look.target, false);
        if (!found) return found.error();
        place = *std::move(found);
    }
    const int outer = levels_.empty() ? place.directory.get() : levels_.back().opened.get();
    const std::string leaf = leaf_of(look.target.below);
    Descriptor opened(::openat(outer, leaf.c_str(), kOpenDirectory | O_NOFOLLOW));
    // In one that may be searched, but not listed, each name can be looked at.
    if (!opened && errno == EACCES) {
        constexpr int kSearch = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        const Descriptor found(::openat(outer, leaf.c_str(), kSearch));
        if (found) opened = Descriptor(::openat(found.get(), ".", kSearch));
    }
    if (!opened) return file_error("cannot open the directory", look.name, errno);
    return opened;
}

// All names before `leaf` were not met; none where it is nothing. Whether `leaf` is listed.
bool TargetTree::pass(Level& level, const std::string* leaf) {
    while (level.names) {
        if (level.next == level.portion.size()) {
            auto portion = level.names->next();
            if (!portion) note_unread(portion.error());
            if (!portion || portion->empty()) {
                level.names.reset();
                return false;
            }
            level.portion = *std::move(portion);
            level.next = 0;
        }
        const std::string& there = level.portion[level.next];
        if (leaf != nullptr && there > *leaf) return false;
        ++level.next;
        if (leaf != nullptr && there == *leaf) return true;
        if (ports::is_partial_name(there)) continue;
        gather(surplus_, level.opened.get(), there, joined(level.below, there),
               joined(level.name, there));
    }
    return false;
}

// What is found and not listed stands there in another spelling, and would be deleted as that;
// unless it was made a moment ago.
void TargetTree::check_spelling(const Level& level, const Look& look) {
    if (!seeks_ || !base_ || !level.opened || !is_listed(level.opened)) return;
    struct stat status {};
    const int directory = level.opened.get();
    const std::string leaf = leaf_of(look.target.below);
    if (::fstatat(directory, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    const auto listed = holds(directory, [&](std::string_view name) { return name == leaf; });
    if (listed && *listed) return;
    seeks_ = false;  // nothing will go
    if (!listed) {
        unlisted_ = file_error("cannot read its directory", look.name, errno);
        return;
    }
    unlisted_ = Error{.fault = Fault::file,
                      .message =
                          "it stands there in another spelling, which its file system takes "
                          "for the same name",
                      .path = look.name,
                      .side = Side::local,
                      .remedy = "give it one spelling at both ends"};
}

// Whether it goes with all that it holds.
bool TargetTree::gather(ExtraneousList& into, int directory, const std::string& leaf,
                        const std::string& below, const std::string& name) {
    if (!seeks_) return true;
    const std::uint64_t before = into.count();
    const auto gathered = into.gather(directory, leaf, below, name, kept_,
                                      [this](Error error) { note_unread(std::move(error)); });
    if (!gathered) {
        seeks_ = false;  // nothing will go
        unlisted_ = gathered.error();
    }
    extraneous_ += into.count() - before;
    return !gathered || *gathered;
}

void TargetTree::note_unread(Error error) {
    if (unread_.size() < kMostUnread) {
        unread_.push_back(std::move(error));
    } else {
        ++unread_beyond_;
    }
}

void TargetTree::tell_unread(TargetEvent& event) {
    event.unread = std::exchange(unread_, {});
    const std::size_t beyond = std::exchange(unread_beyond_, 0);
    if (beyond > 0)
        event.unread.back().message +=
            "; so it is with " + std::to_string(beyond) + " more near it";
}

}  // namespace lambda::io
