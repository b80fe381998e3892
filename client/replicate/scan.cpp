#include "client/replicate/scan.h"

#include <sys/stat.h>

#include <cerrno>

#include "client/replicate/remote_tree.h"
#include "client/waiting.h"
#include "common/io/file/attributes.h"
#include "common/io/reactor.h"
#include "common/io/tree/tree_walker.h"
#include "common/transfer/filter.h"

namespace lambda::client::replicate {
namespace {

constexpr std::size_t kTaken = 1024;
constexpr Duration kPatience = std::chrono::milliseconds(200);  // to hear an interruption

Error too_many() {
    return Error{
        .fault = Fault::usage,
        .message = "the sources have more than " + std::to_string(kMostEntries) + " entries",
        .path = {},
        .side = Side::local,
        .remedy = "make several jobs of them"};
}

Kind kind_of(mode_t mode) {
    if (S_ISREG(mode)) return Kind::file;
    if (S_ISDIR(mode)) return Kind::directory;
    return S_ISLNK(mode) ? Kind::link : Kind::other;
}

Standing standing_of(const ports::FileMetadata& metadata, Kind kind) {
    return {.kind = kind,
            .size = kind == Kind::file ? metadata.size : 0,
            .mtime_ns = metadata.mtime_ns,
            .mode = metadata.mode & 07777u};
}

// Takes what the walker finds of one root.
class Gatherer {
  public:
    Gatherer(Listing& listing, const Job& job, std::uint32_t root)
        : listing_(listing), job_(job), root_(root) {}

    void take(ports::Found found) {
        using Found = ports::Found::Kind;
        switch (found.kind) {
            case Found::file:
                return add(std::move(found.name), standing_of(found.metadata, Kind::file));
            case Found::directory:
                return add(std::move(found.name), standing_of(found.metadata, Kind::directory));
            case Found::link:
                return add(std::move(found.name), standing_of(found.metadata, Kind::link));
            case Found::same:  // it is moved as a file of its own
                return add_as_it_is(std::move(found.name));
            case Found::skipped:
                return listing_.skip(found.name);
            case Found::failed:
                return miss(std::move(found));
            case Found::leave:
                return;
        }
    }

  private:
    void add(std::string name, Standing standing) {
        listing_.entries.push_back({.root = root_, .name = std::move(name), .standing = standing});
    }
    void add_as_it_is(std::string name) {
        const std::string path = job_.roots[root_].path_of(name);
        struct stat status {};
        if (::lstat(path.c_str(), &status) == 0)
            return add(std::move(name), replicate::standing_of(status));
        if (errno == ENOENT || errno == ENOTDIR) return;  // it is gone since
        listing_.miss({.root = root_,
                       .name = std::move(name),
                       .error = errno_error(Fault::file, "cannot look at", path, errno)});
    }
    void miss(ports::Found found) {
        const SourceRoot& root = job_.roots[root_];
        if (found.error.path.empty()) found.error.path = found.path;
        // The walker calls a root that has no name of its own by its path.
        std::string name = found.path == root.path ? root.name : std::move(found.name);
        listing_.miss({.root = root_, .name = std::move(name), .error = std::move(found.error)});
    }
    Listing& listing_;
    const Job& job_;
    std::uint32_t root_;
};

}  // namespace

Standing standing_of(const struct stat& status) {
    const Kind kind = kind_of(status.st_mode);
    return {.kind = kind,
            .size = kind == Kind::file ? static_cast<std::uint64_t>(status.st_size) : 0,
            .mtime_ns = io::nanoseconds_of(status.st_mtim),
            .mode = status.st_mode & 07777u};
}

Result<Listing> scan_here(const Job& job) {
    auto reactor = io::Reactor::make();
    if (!reactor) return reactor.error();
    Listing listing;
    for (std::uint32_t number = 0; number < job.roots.size(); ++number) {
        const SourceRoot& root = job.roots[number];
        auto made = io::TreeWalker::make(io::Root::machine(), **reactor);
        if (!made) return made.error();
        io::TreeWalker& walker = **made;
        ports::WalkOptions options{.links = job.links};
        options.excluded = [filter = transfer::Filter(job.rules)](const std::string& name,
                                                                  bool directory) {
            return filter.excludes(name, directory);
        };
        walker.set_options(std::move(options));
        LAMBDA_ASSERT(walker.add({.path = root.path, .name = root.name}));
        walker.no_more();
        Gatherer gatherer(listing, job, number);
        std::vector<ports::Found> found;
        while (!walker.ended()) {
            found.clear();
            walker.take(found, kTaken);
            for (ports::Found& each : found) gatherer.take(std::move(each));
            if (listing.entries.size() > kMostEntries) return too_many();
            if (interrupted()) return interruption_error();
            if (found.empty()) (*reactor)->wait(now() + kPatience);
        }
    }
    return listing;
}

Result<Listing> scan_there(const Job& job, const Access& access) {
    auto tree = RemoteTree::open(*job.source_server(), access);
    if (!tree) return tree.error();
    std::vector<std::string> paths;
    paths.reserve(job.roots.size());
    for (const SourceRoot& root : job.roots) paths.push_back(root.path.empty() ? "/" : root.path);
    auto tops = tree->stand(paths);
    if (!tops) return tops.error();
    std::vector<std::string> within;  // a source may be a link that leads to it
    for (const std::string& path : paths) within.push_back(path + "/.");
    const auto led = tree->stand(within);
    if (!led) return led.error();
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if ((*led)[i].standing) (*tops)[i] = (*led)[i];
    }
    const transfer::Filter filter(job.rules);
    Listing listing;
    const auto add = [&](std::uint32_t root, const std::string& name, const Standing& standing) {
        if (listing.entries.size() > kMostEntries) return false;  // nothing more is kept
        if (name != "." && filter.excludes(name, standing.kind == Kind::directory)) return false;
        if (standing.kind == Kind::link && job.links == ports::Links::skip) return false;
        if (standing.kind == Kind::other) {
            listing.skip(name);
            return false;
        }
        listing.entries.push_back({.root = root, .name = name, .standing = standing});
        return true;
    };
    for (std::uint32_t number = 0; number < job.roots.size(); ++number) {
        const SourceRoot& root = job.roots[number];
        const auto& top = (*tops)[number].standing;
        const bool directory = top && top->kind == Kind::directory;
        if (!top || (!directory && (root.name == "." || top->kind != Kind::file))) {
            listing.miss(
                {.root = number,
                 .name = root.name,
                 .error = {.fault = Fault::file,
                           .message = !top ? "is not there, or may not be seen"
                                           : "is no directory and no file to name as a source",
                           .path = root.path,
                           .side = Side::remote,
                           .remedy = {}}});
            continue;
        }
        if (!add(number, root.name, *top) || !directory) continue;
        const auto walked = tree->walk(
            paths[number], root.name,
            [&](const std::string& below, const Standing& standing) {
                return add(number, below, standing);
            },
            [&](const std::string& name, Error error) {
                listing.miss({.root = number, .name = name, .error = std::move(error)});
            });
        if (!walked) return walked.error();
        if (listing.entries.size() > kMostEntries) return too_many();
    }
    listing.drop_missed();
    return listing;
}

}  // namespace lambda::client::replicate
