// What stands at a target and is to go: gathered while the tree is looked at, removed later, in the
// order in which it was gathered. It is kept in an unlinked file, so that memory does not grow with
// it. Blocking calls: one worker thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/io/file/root.h"
#include "common/ports/target_tree.h"

namespace lambda::io {

class ExtraneousList {
  public:
    ~ExtraneousList();

    // The directory `leaf`, or whatever else it is, in the open `directory`, with all below it:
    // what a directory holds before itself. `below` is where it lies under the base, `name` what it
    // is called in messages. Nothing that `kept` names, nor the directories that hold such; nor
    // what cannot be read, which `stays` is told of. False: some of it is to stay. An error: the
    // list lacks something.
    using Stays = std::function<void(Error error)>;
    Result<bool> gather(int directory, const std::string& leaf, const std::string& below,
                        const std::string& name, const ports::TargetTree::Kept& kept,
                        const Stays& stays);
    // All that was gathered.
    std::uint64_t count() const { return count_; }
    // Up to `most` of them; empty at the end, and what was removed is then durable. `base`: all lie
    // below it. An error comes behind all that was removed, which is then durable too but for that
    // error's own part.
    Result<std::vector<ports::Extraneous>> next(int base, bool remove, std::size_t most);
    // What is under way ends with an error. Any thread.
    void stop() { stopping_ = true; }
    // How many were met by gather() and by next() so far, while they get on, too. Any thread.
    std::uint64_t looked() const { return looked_; }

  private:
    struct Line {
        bool directory = false;
        std::string below;
        std::string name;
    };
    // The directory that something is removed from: as it was found, but for that.
    struct Parent {
        std::string below;
        Descriptor opened;
        struct stat status {};
        bool opened_up = false;  // for writing
        bool removed = false;    // something, since it was opened
        void restore();
        ~Parent() { restore(); }
    };
    // What one gather() is about.
    struct Gathering {
        const ports::TargetTree::Kept& kept;
        const Stays& stays;
    };
    // Whether it may go, with all below it.
    Result<bool> gather_one(int directory, const std::string& leaf, const Line& line,
                            const Gathering& how, unsigned depth);
    Result<bool> gather_below(int directory, const Line& line, const Gathering& how,
                              unsigned depth);
    Result<void> put(const Line& line);
    Result<void> write_out();
    Result<std::optional<Line>> take();
    std::optional<Error> remove(int base, const Line& line);
    Result<Parent*> parent_of(int base, const Line& line);
    void leave_parent(int base);
    bool has_barrier(int base, const Parent& parent);

    Descriptor spool_;
    std::uint64_t spooled_ = 0;
    std::string waiting_;  // to be written, or read and not taken
    std::size_t taken_ = 0;
    bool reading_ = false;
    std::uint64_t count_ = 0;
    std::atomic<std::uint64_t> looked_ = 0;
    std::atomic<bool> stopping_ = false;
    std::unique_ptr<Parent> parent_;
    std::optional<dev_t> base_device_;  // once it is known
    bool base_has_barrier_ = false;     // syncfs(2) is one there
    bool removed_ = false;              // what that makes durable
    std::optional<Error> unflushed_;
    std::optional<Error> unread_;  // nothing is taken any more
};

}  // namespace lambda::io
