// The walker on the machine: a thread that reads directories ahead of what is taken. Memory: the
// names of one directory at a time for each level, in portions of DirectoryNames::kPortionBytes;
// its stack, which takes some 3 KiB a level; kMostFound entries that nobody took yet; what is known
// of files with several names, up to kMostShared of them; the roots (earlier_roots.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/io/file/root.h"
#include "common/io/file/source_names.h"
#include "common/io/reactor.h"
#include "common/io/tree/earlier_roots.h"
#include "common/ports/walker.h"

namespace lambda::io {

class TreeWalker final : public ports::Walker {
  public:
    static constexpr std::size_t kMostRoots = 1024;
    static constexpr unsigned kDeepest = 512;  // levels of a tree, and of what a pattern opens
    static constexpr std::size_t kMostFound = 2048;
    static constexpr std::size_t kMostShared = 200'000;

    // `reactor` must outlive it.
    static Result<std::unique_ptr<TreeWalker>> make(Root root, Reactor& reactor);
    ~TreeWalker() override;

    void set_options(ports::WalkOptions options) override;
    bool add(ports::WalkRoot root) override;
    void no_more() override;
    void take(std::vector<ports::Found>& out, std::size_t most) override;
    bool ended() const override;
    std::uint64_t looked() const override { return looked_; }

  private:
    // A directory that is being walked, and those around it.
    struct Level {
        const Level* outer = nullptr;
        int directory = -1;
        dev_t device = 0;
        ino_t inode = 0;
        std::string path;  // where it is
        std::string name;  // for the receiver; ".": nothing before the names in it
        std::vector<std::string> earlier{};  // directories of earlier roots that land there too
    };

    TreeWalker(Root root, Reactor& reactor) : root_(std::move(root)), reactor_(reactor) {}
    void run();
    void walk();
    // `named`: by its user; else a pattern matched it.
    void walk_root(const ports::WalkRoot& root, bool named);
    void walk_found(const ports::WalkRoot& root);
    void walk_pattern(const ports::WalkRoot& root);
    // Returns how many entries matched, with the directories in which nobody can tell.
    std::size_t expand(const std::string& prefix, std::string_view rest,
                       const ports::WalkRoot& root);
    bool may_be_directory(const std::string& path) const;
    std::size_t fail_match(const std::string& path, Error error);
    void walk_directory(Descriptor opened, const struct stat& status, Level level);
    void walk_entry(const Level& level, const std::string& leaf);
    void visit(const Level* outer, const std::string& path, const std::string& name,
               const struct stat& status, bool followed);
    bool stands_before(const Level* outer, const std::string& path, const std::string& name,
                       const struct stat& status, std::vector<std::string>& merged);
    bool same_link(const std::string& path, const std::string& other) const;
    void visit_link(const Level& level, const std::string& leaf, const std::string& path,
                    const std::string& name, const struct stat& status);
    Result<ports::FileMetadata> describe(const ports::Found& found, const Level* outer,
                                         const struct stat& status) const;
    void enter(const Level* outer, const std::string& path, const std::string& name, bool followed,
               std::vector<std::string> earlier);
    bool says_same(const std::string& path, const std::string& name, const struct stat& status);
    bool excluded(const std::string& name, bool directory) const;
    static Error too_deep(const std::string& path);
    void fail(const std::string& path, const std::string& name, Error error);
    void skip(const std::string& path, const std::string& name, std::string why);
    void emit(ports::Found found);
    bool stopping() const;

    const Root root_;
    const SourceNames names_{root_};
    Reactor& reactor_;
    ports::WalkOptions options_;

    // The walking thread's.
    struct Shared {
        std::string first;
        nlink_t left = 0;  // names of it that were not met
        // As it was then: what differs may be another file that has the number of one that is gone.
        off_t size = 0;
        std::int64_t mtime_ns = 0;
    };
    std::map<std::pair<dev_t, ino_t>, Shared> shared_;
    bool said_full_ = false;
    EarlierRoots earlier_;
    unsigned depth_ = 0;     // levels that are open
    std::size_t named_ = 0;  // bytes of the paths below the present root
    bool said_many_roots_ = false;
    std::atomic<std::uint64_t> looked_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable more_, room_;
    std::deque<ports::WalkRoot> roots_;
    bool roots_end_ = false;
    std::deque<ports::Found> found_;
    bool engine_waits_ = true;  // it found nothing when it looked
    bool ended_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace lambda::io
