// What stands at a target, on the machine: a thread that follows the sender's walk with open
// directories, and a Finisher that flushes what is mended or kept, many files at a time. Memory:
// for each level that is entered a portion of the names of its directory, where what is extraneous
// is sought (DirectoryNames); what is extraneous lies in a file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/io/completions.h"
#include "common/io/disk/finisher.h"
#include "common/io/file/root.h"
#include "common/io/file/target_name.h"
#include "common/io/reactor.h"
#include "common/io/tree/directory_names.h"
#include "common/io/tree/extraneous.h"
#include "common/io/workers.h"
#include "common/ports/target_tree.h"

namespace lambda::io {

class TargetTree final : public ports::TargetTree {
  public:
    // `reactor` must outlive it.
    static Result<std::unique_ptr<TargetTree>> make(Root root, Reactor& reactor);
    ~TargetTree() override;

    const ports::Rights& rights() const override { return rights_; }
    void begin(const std::string& path) override;
    void seek_extraneous(Kept kept, bool clears) override;
    void look(std::vector<ports::Look> looks) override;
    void mend(std::uint64_t tag, ports::TargetName target, ports::FileMetadata metadata,
              std::int64_t stood_ns) override;
    void keep(std::uint64_t tag, ports::TargetName target) override;
    std::uint64_t extraneous() const override { return extraneous_; }
    void next_extraneous(bool in_the_way, bool remove) override;
    std::uint64_t looked() const override {
        return looked_ + surplus_.looked() + in_the_way_.looked();
    }
    std::vector<ports::TargetEvent> poll() override;

  private:
    TargetTree(Root root, Reactor& reactor, std::unique_ptr<Workers> thread);
    void post(std::function<void()> job);
    // A directory that is entered; it need not be there.
    struct Level {
        Descriptor opened;
        bool is_none = false;        // something else stands there, or where it would lie
        std::optional<Error> error;  // it can't be looked into
        std::string below;           // under the base
        std::string name;
        std::unique_ptr<DirectoryNames> names;  // where what is extraneous is sought
        std::vector<std::string> portion;
        std::size_t next = 0;  // in it, not met yet
    };
    // The thread's.
    void look_all(const std::vector<ports::Look>& looks);
    ports::Standing look_one(const ports::Look& look);
    ports::Standing look_at(const ports::Look& look, int directory, const std::string& leaf);
    ports::Standing look_at_base(const ports::Look& look);
    void enter(const ports::Look& look, const ports::Standing& standing);
    Result<Descriptor> open_level(const ports::Look& look) const;
    Result<Descriptor> open_directory(const ports::Look& look) const;
    bool pass(Level& level, const std::string* leaf);
    void check_spelling(const Level& level, const ports::Look& look);
    bool gather(ExtraneousList& into, int directory, const std::string& leaf,
                const std::string& below, const std::string& name);
    void note_unread(Error error);
    void tell_unread(ports::TargetEvent& event);
    bool is_first(const ports::Look& look, const struct stat& status) const;
    Result<Made> mend_one(const ports::TargetName& target, const ports::FileMetadata& metadata,
                          std::int64_t stood_ns);
    Result<Descriptor> open_to_mend(const ports::TargetName& target,
                                    const ports::FileMetadata& metadata,
                                    std::int64_t stood_ns) const;
    Result<Made> keep_one(const ports::TargetName& target);
    Result<TargetDirectories::Place> place_to_keep(const ports::TargetName& target);
    void finish(std::uint64_t tag, Result<Made> made);
    void done(ports::TargetEvent event);

    const Root root_;
    const ports::Rights rights_;
    Reactor& reactor_;
    Kept kept_;
    bool seeks_ = false;
    bool clears_ = false;
    std::vector<Level> levels_;
    Descriptor base_;  // what all that is extraneous lies below
    ExtraneousList surplus_, in_the_way_;
    // Of the looks in hand.
    std::vector<Error> unread_;
    std::size_t unread_beyond_ = 0;
    std::optional<Error> unlisted_;
    const std::int64_t written_back_ns_;  // what did not change since is durable
    TargetDirectories directories_;       // of what is kept; the thread's
    std::atomic<bool> stopping_ = false;
    std::atomic<std::uint64_t> extraneous_ = 0;
    std::atomic<std::uint64_t> looked_ = 0;  // entries of the walk
    Completions<ports::TargetEvent> done_;
    std::vector<ports::TargetEvent> taken_;
    std::unique_ptr<Finisher> finisher_;  // since the first that is mended or kept; the thread's
    std::unique_ptr<Workers> thread_;     // last: its jobs use what stands above
};

}  // namespace lambda::io
