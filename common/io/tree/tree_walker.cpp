#include "common/io/tree/tree_walker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"
#include "common/io/file/virtual_file.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/tree/directory_names.h"

namespace lambda::io {
namespace {

using ports::Found;
using Kind = Found::Kind;

constexpr int kReadDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

const char* special(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFIFO:
            return "it is a pipe";
        case S_IFSOCK:
            return "it is a socket";
        case S_IFCHR:
        case S_IFBLK:
            return "it is a device";
        default:
            return "it is no file, directory or link";
    }
}

// As long as `path`.
const char* leaf_of(const std::string& path) {
    return &path[path.rfind('/') + 1];
}

constexpr const char* kPartial = "it is a part of what a transfer writes or left when it was cut";

Error partial(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message = std::string("cannot be sent: ") + kPartial,
                 .path = path,
                 .side = Side::local,
                 .remedy = "give it another name first"};
}

// What a user named is meant.
Error no_content(const std::string& path, const char* why,
                 const char* remedy = "write what it gives into a file first") {
    return Error{.fault = Fault::file,
                 .message = std::string("cannot be sent: ") + why,
                 .path = path,
                 .side = Side::local,
                 .remedy = remedy};
}

// Not entered: below it no name is shorter.
Error too_long(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message = "its name in the tree has more than 4096 bytes",
                 .path = path,
                 .side = Side::local,
                 .remedy = "send the tree in parts"};
}

}  // namespace

Result<std::unique_ptr<TreeWalker>> TreeWalker::make(Root root, Reactor& reactor) {
    std::unique_ptr<TreeWalker> walker(new TreeWalker(std::move(root), reactor));
    auto thread = start_thread([self = walker.get()] { self->run(); });
    if (!thread) return thread.error();
    walker->thread_ = *std::move(thread);
    return walker;
}

TreeWalker::~TreeWalker() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    more_.notify_one();
    room_.notify_one();
    if (thread_.joinable()) thread_.join();
}

// ---- engine thread

void TreeWalker::set_options(ports::WalkOptions options) {
    const std::lock_guard lock(mutex_);
    LAMBDA_ASSERT(roots_.empty());
    options_ = std::move(options);
}

bool TreeWalker::add(ports::WalkRoot root) {
    const std::lock_guard lock(mutex_);
    LAMBDA_ASSERT(!roots_end_);
    if (roots_.size() >= kMostRoots) return false;
    roots_.push_back(std::move(root));
    more_.notify_one();
    return true;
}

void TreeWalker::no_more() {
    const std::lock_guard lock(mutex_);
    roots_end_ = true;
    more_.notify_one();
}

void TreeWalker::take(std::vector<Found>& out, std::size_t most) {
    const std::lock_guard lock(mutex_);
    const std::size_t count = std::min(most, found_.size());
    std::move(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count),
              std::back_inserter(out));
    found_.erase(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
    engine_waits_ = found_.empty();
    if (count > 0 && found_.size() <= kMostFound / 2) room_.notify_one();
}

bool TreeWalker::ended() const {
    const std::lock_guard lock(mutex_);
    return ended_ && found_.empty();
}

// ---- the walking thread

void TreeWalker::run() {
    try {
        walk();
    } catch (const std::bad_alloc&) {
        reactor_.lose_work();
    }
}

void TreeWalker::walk() {
    while (true) {
        ports::WalkRoot root;
        {
            std::unique_lock lock(mutex_);
            more_.wait(lock, [this] { return stopping_ || !roots_.empty() || roots_end_; });
            if (stopping_) return;
            if (roots_.empty()) {
                ended_ = true;
                reactor_.wake();
                return;
            }
            root = std::move(roots_.front());
            roots_.pop_front();
        }
        if (root.pattern) {
            walk_pattern(root);
        } else if (root.named < root.path.size()) {
            walk_found(root);
        } else {
            walk_root(root, true);
        }
        // More roots may be waited with for room.
        reactor_.wake();
    }
}

bool TreeWalker::stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
}

void TreeWalker::emit(Found found) {
    const bool lands = found.kind == Kind::file || found.kind == Kind::directory ||
                       found.kind == Kind::link || found.kind == Kind::same;
    if (lands && found.name != "." && found.name.find('/') == found.name.npos)
        earlier_.note(found.name);
    std::unique_lock lock(mutex_);
    if (found_.size() >= kMostFound) {
        room_.wait(lock, [this] { return stopping_ || found_.size() <= kMostFound / 2; });
    }
    if (stopping_) return;
    found_.push_back(std::move(found));
    if (!std::exchange(engine_waits_, false)) return;
    lock.unlock();
    reactor_.wake();
}

Error TreeWalker::too_deep(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message = "lies more than " + std::to_string(kDeepest) + " levels deep",
                 .path = path,
                 .side = Side::local,
                 .remedy = "send the tree in parts"};
}

void TreeWalker::fail(const std::string& path, const std::string& name, Error error) {
    Found found{.kind = Kind::failed, .path = path, .name = name};
    found.error = std::move(error);
    emit(std::move(found));
}

void TreeWalker::skip(const std::string& path, const std::string& name, std::string why) {
    emit({.kind = Kind::skipped, .path = path, .name = name, .text = std::move(why)});
}

bool TreeWalker::excluded(const std::string& name, bool directory) const {
    return options_.excluded && name != "." && options_.excluded(name, directory);
}

// What a user named: a link there is followed.
void TreeWalker::walk_root(const ports::WalkRoot& root, bool named) {
    const std::string path = root.path.empty() ? "." : root.path;
    if (virtual_file(root_, path)) {
        emit({.kind = Kind::file, .path = path, .name = root.name});
        return;
    }
    if (ports::is_partial_name(root.name)) return fail(path, root.name, partial(path));
    const auto status = root_.stat(path, true);
    if (!status) return fail(path, root.name, status.error());
    if (root.name == "." && !S_ISDIR(status->st_mode)) {
        return fail(path, path, file_error("cannot read", path, ENOTDIR));
    }
    if (named && !S_ISDIR(status->st_mode) && !S_ISREG(status->st_mode))
        return fail(path, root.name, no_content(path, special(status->st_mode)));
    earlier_.begin(path, root.name);
    if (earlier_.full() && earlier_.roots() > 1 && !std::exchange(said_many_roots_, true)) {
        log_warning("the sources hold more than " + std::to_string(EarlierRoots::kMostNames) +
                    " names: of those from here on nobody looks whether another source has them");
    }
    named_ = path == "." ? 0 : path.size();
    visit(nullptr, path, root.name, *status, true);
}

// What an earlier walk found: a link that took a place on the way to it since is not followed.
void TreeWalker::walk_found(const ports::WalkRoot& root) {
    const auto opened = names_.open({.path = root.path, .follow = false, .named = root.named},
                                    options_.archive ? O_RDONLY | O_NONBLOCK : O_PATH);
    if (!opened) return fail(root.path, root.name, opened.error());
    struct stat status {};
    if (::fstat(opened->get(), &status) != 0)
        return fail(root.path, root.name, file_error("cannot look at", root.path, errno));
    if (!S_ISREG(status.st_mode))
        return fail(root.path, root.name,
                    no_content(root.path, "it is no file any more", "run the same command again"));
    auto metadata = metadata_of({.descriptor = opened->get()}, status,
                                options_.archive && options_.file_metadata, root.path);
    if (!metadata) return fail(root.path, root.name, metadata.error());
    Found found{.kind = Kind::file, .path = root.path, .name = root.name};
    found.follow = false;
    found.named = root.named;
    found.metadata = *std::move(metadata);
    emit(std::move(found));
}

void TreeWalker::visit(const Level* outer, const std::string& path, const std::string& name,
                       const struct stat& status, bool followed) {
    const bool directory = S_ISDIR(status.st_mode);
    if (excluded(name, directory)) return;
    if (!directory && !S_ISREG(status.st_mode)) return skip(path, name, special(status.st_mode));
    std::vector<std::string> merged;
    if (stands_before(outer, path, name, status, merged)) return;
    if (directory) return enter(outer, path, name, followed, std::move(merged));
    if (!followed && says_same(path, name, status)) return;
    Found found{.kind = Kind::file, .path = path, .name = name};
    found.follow = followed;
    if (outer != nullptr && options_.links != ports::Links::follow) found.named = named_;
    if (!followed) found.further = further_names(status);
    if (found.further > 0) found.id = status.st_ino;
    auto metadata = describe(found, outer, status);
    if (!metadata) return fail(path, name, metadata.error());
    found.metadata = *std::move(metadata);
    emit(std::move(found));
}

// Whether something of an earlier root lands there, which stays: only directories become one, those
// in `merged`. The same thing once more is no failure.
bool TreeWalker::stands_before(const Level* outer, const std::string& path, const std::string& name,
                               const struct stat& status, std::vector<std::string>& merged) {
    if (name == ".") return false;
    std::vector<EarlierRoots::Place> places;
    if (outer == nullptr || outer->name == ".") {
        places = earlier_.places_of(name);
    } else {
        for (const std::string& directory : outer->earlier)
            places.push_back({.path = directory + name.substr(name.rfind('/'))});
    }
    for (const EarlierRoots::Place& place : places) {
        const auto there =
            root_.stat(place.path, place.root || options_.links == ports::Links::follow);
        if (!there) continue;
        const bool directory = S_ISDIR(there->st_mode);
        const bool link = S_ISLNK(there->st_mode);
        const bool sent =
            directory || S_ISREG(there->st_mode) || (link && options_.links == ports::Links::keep);
        if (!sent || excluded(name, directory)) continue;
        if (directory && S_ISDIR(status.st_mode)) {
            if (root_.open(place.path, kReadDirectory)) merged.push_back(place.path);
            continue;
        }
        if (there->st_dev == status.st_dev && there->st_ino == status.st_ino) return true;
        if (link && S_ISLNK(status.st_mode) && same_link(path, place.path)) return true;
        fail(path, name,
             Error{.fault = Fault::file,
                   .message = "would land where '" + place.path + "' does",
                   .path = path,
                   .side = Side::local,
                   .remedy = "leave one of them out, or move them in two runs"});
        return true;
    }
    return false;
}

bool TreeWalker::same_link(const std::string& path, const std::string& other) const {
    std::array<std::string, 2> texts;
    for (std::size_t i = 0; i < 2; ++i) {
        const auto place = root_.place(i == 0 ? path : other, false);
        std::array<char, 4096> text;
        const ssize_t length = !place ? -1
                                      : ::readlinkat(place->directory.get(), place->leaf.c_str(),
                                                     text.data(), text.size());
        if (length <= 0) return false;
        texts[i].assign(text.data(), static_cast<std::size_t>(length));
    }
    return texts[0] == texts[1];
}

// An error even of a file that will perhaps not be opened: what stands at the receiver would be
// held against less than the archive asks for.
Result<ports::FileMetadata> TreeWalker::describe(const Found& found, const Level* outer,
                                                 const struct stat& status) const {
    const bool archive = options_.archive && options_.file_metadata;
    if (!archive || !found.follow) {
        const char* const leaf = leaf_of(found.path);
        const int directory = outer == nullptr ? -1 : outer->directory;
        return metadata_of({.descriptor = directory, .name = leaf}, status, archive, found.path);
    }
    const auto opened = root_.open(found.path, O_RDONLY | O_NONBLOCK);
    if (!opened) return opened.error();
    return metadata_of({.descriptor = opened->get()}, status, true, found.path);
}

void TreeWalker::enter(const Level* outer, const std::string& path, const std::string& name,
                       bool followed, std::vector<std::string> earlier) {
    if (depth_ == kDeepest) return fail(path, name, too_deep(path));
    auto opened = outer != nullptr && !followed
                      ? Result<Descriptor>(Descriptor(
                            ::openat(outer->directory, leaf_of(path), kReadDirectory | O_NOFOLLOW)))
                      : root_.open(path, kReadDirectory);
    if (opened && !*opened) opened = file_error("cannot open the directory", path, errno);
    if (!opened) return fail(path, name, opened.error());
    struct stat status {};
    if (::fstat(opened->get(), &status) != 0)
        return fail(path, name, file_error("cannot look at", path, errno));
    for (const Level* around = outer; around != nullptr; around = around->outer) {
        if (around->device != status.st_dev || around->inode != status.st_ino) continue;
        Error error = file_error("cannot follow the link", path, ELOOP);
        error.message = "the link leads back to a directory that it lies in";
        return fail(path, name, std::move(error));
    }
    Level level{.outer = outer,
                .directory = opened->get(),
                .device = status.st_dev,
                .inode = status.st_ino,
                .path = path,
                .name = name,
                .earlier = std::move(earlier)};
    ++depth_;
    walk_directory(*std::move(opened), status, std::move(level));
    --depth_;
}

void TreeWalker::walk_directory(Descriptor opened, const struct stat& status, Level level) {
    auto metadata = metadata_of({.descriptor = opened.get()}, status, options_.archive, level.path);
    if (!metadata) {
        fail(level.path, level.name, metadata.error());
        metadata = metadata_of({.descriptor = opened.get()}, status, false, level.path);
    }
    Found entered{.kind = Kind::directory, .path = level.path, .name = level.name};
    entered.metadata = *std::move(metadata);
    emit(std::move(entered));
    DirectoryNames names(opened.get(), level.path);
    while (!stopping()) {
        const auto portion = names.next();
        if (!portion) fail(level.path, level.name, portion.error());
        if (!portion || portion->empty()) break;
        for (const std::string& leaf : *portion) {
            walk_entry(level, leaf);
            if (stopping()) return;
        }
    }
    // What it held until then is not held to be gone from it.
    struct stat after {};
    if (status.st_nlink > 0 && ::fstat(opened.get(), &after) == 0 && after.st_nlink == 0)
        fail(level.path, level.name,
             file_error("cannot read the directory, which was removed", level.path, ENOENT));
    emit({.kind = Kind::leave});
}

void TreeWalker::walk_entry(const Level& level, const std::string& leaf) {
    ++looked_;
    const std::string path = joined(level.path, leaf);
    const std::string name = joined(level.name, leaf);
    if (ports::is_partial_name(leaf)) return skip(path, name, kPartial);
    if (name.size() > ports::kLongestName) return fail(path, name, too_long(path));
    struct stat status {};
    if (::fstatat(level.directory, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        // It went between the reading of the directory and now: then it is not there to be sent.
        if (errno == ENOENT) return;
        return fail(path, name, file_error("cannot look at", path, errno));
    }
    if (S_ISLNK(status.st_mode)) return visit_link(level, leaf, path, name, status);
    visit(&level, path, name, status, false);
}

void TreeWalker::visit_link(const Level& level, const std::string& leaf, const std::string& path,
                            const std::string& name, const struct stat& status) {
    if (options_.links == ports::Links::skip) return;
    if (options_.links == ports::Links::follow) {
        const auto shown = root_.stat(path, true);
        if (!shown) return excluded(name, false) ? void() : fail(path, name, shown.error());
        return visit(&level, path, name, *shown, true);
    }
    std::vector<std::string> none;
    if (excluded(name, false) || stands_before(&level, path, name, status, none) ||
        says_same(path, name, status))
        return;
    std::array<char, 4096> text;
    const ssize_t length = ::readlinkat(level.directory, leaf.c_str(), text.data(), text.size());
    if (length <= 0 || static_cast<std::size_t>(length) == text.size()) {
        return fail(path, name,
                    file_error("cannot read the link", path, length < 0 ? errno : ENAMETOOLONG));
    }
    auto metadata = metadata_of({.descriptor = level.directory, .name = leaf.c_str()}, status,
                                options_.archive, path);
    if (!metadata) return fail(path, name, metadata.error());
    Found found{.kind = Kind::link, .path = path, .name = name};
    found.further = further_names(status);
    found.text.assign(text.data(), static_cast<std::size_t>(length));
    found.metadata = *std::move(metadata);
    emit(std::move(found));
}

// Whether it is another name of what was found before, and was said so.
bool TreeWalker::says_same(const std::string& path, const std::string& name,
                           const struct stat& status) {
    if (status.st_nlink < 2) return false;
    const auto key = std::make_pair(status.st_dev, status.st_ino);
    const auto known = shared_.find(key);
    const std::int64_t mtime_ns = nanoseconds_of(status.st_mtim);
    const bool agrees = known != shared_.end() && known->second.size == status.st_size &&
                        known->second.mtime_ns == mtime_ns;
    if (!agrees) {
        if (known != shared_.end() || shared_.size() < kMostShared) {
            shared_[key] = Shared{name, status.st_nlink - 1, status.st_size, mtime_ns};
        } else if (!std::exchange(said_full_, true)) {
            log_warning("more than " + std::to_string(kMostShared) +
                        " files with further names elsewhere: those met from here on are sent as "
                        "files of their own");
        }
        return false;
    }
    Found found{.kind = Kind::same, .path = path, .name = name, .text = known->second.first};
    found.metadata = *metadata_of({}, status, false, path);
    found.follow = false;
    emit(std::move(found));
    if (--known->second.left == 0) shared_.erase(known);
    return true;
}

}  // namespace lambda::io
