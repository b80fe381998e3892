// The receiver's half of a comparison: looks at what stands where an offered entry would land,
// judges, and answers; and at the end removes what the source does not have, where that is wanted
// (docs/protocol.md §7, "What stands there already"). Pure but for the port it drives; engine
// thread. Bounds: twice kMostOffered offers that are not judged and kMostOfferedBytes of them, half
// as many that are blocked; as many that are to come, with four times the bytes; looks that wait
// are its caller's to hold back (has_room()).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/ports/target_tree.h"
#include "common/transfer/content_digests.h"
#include "common/transfer/name_hashes.h"
#include "common/transfer/names.h"
#include "common/transfer/set_stream.h"
#include "common/transfer/sync_plan.h"

namespace lambda::transfer {

class Comparison {
  public:
    static constexpr std::size_t kMostLooks = 1024;      // in one call of the port
    static constexpr std::size_t kMostArchives = 64;     // of those
    static constexpr unsigned kMostCalls = 4;            // not answered
    static constexpr std::size_t kMostShared = 1 << 16;  // adopted files that have further names

    struct Totals {
        std::uint64_t adopted = 0, adopted_bytes = 0, mended = 0, removed = 0, failed = 0,
                      unowned = 0;
    };
    using OnFailure = std::function<void(const std::string& name, const Error& error)>;

    // What the machine gives it.
    struct Ports {
        ports::TargetTree* tree = nullptr;  // none: it says that nothing stands there
        ports::ContentReader* reader = nullptr;
    };
    // `changes`: where this end reports them, or nothing.
    Comparison(const Ports& with, StreamSender& stream, const Target& target, Changes* changes,
               OnFailure on_failure);

    // False: a second time, or after an offer.
    bool set_plan(const SyncRecord& plan);
    // Names of files that lie in no tree and were done by an earlier try: of all that are offered,
    // others move in any case. Before the first offer.
    void set_done_before(const std::vector<std::string>& names) {
        done_before_.insert(names.begin(), names.end());
    }

    // Content is compared by SHA-256, too. Before the first turn().
    void set_strong() { digests_.set_strong(); }

    // Whether it is for handle().
    static bool takes(const Record& record);
    // Whether offers are to be handled now; else after a turn.
    bool has_room() const {
        return looks_.size() < kMostOffered && looks_bytes_ < kMostOfferedBytes;
    }
    // False: the sender speaks nonsense.
    bool handle(const Record& record);
    // Something of the source could not be read: nothing is removed, since it may be there.
    void note_fault() { ++faults_; }
    // Whether this entry may be announced: of a sync only what was offered and is to come, and the
    // directories around that. An option may keep what stands there from all else.
    bool may_come(const Record& entry, const std::string& name) const;
    // It was announced.
    void note_sent(const std::string& name);
    // It was told as failed. A directory may be announced all the same.
    void note_failed(const std::string& name);
    // The sender announces nothing more: what was to come has failed. False: not all is judged yet.
    bool handle_finish();
    // What is offered next lies in no directory.
    bool at_top() const { return entered_.empty(); }
    // Nothing is to be announced.
    bool dry_run() const { return plan_.dry_run; }
    // Of something that was no entry: it failed.
    void miss(const std::string& name, const Error& error);

    // Every turn. `rest_done`: the sender announces nothing more, and all of it is done.
    void turn(bool rest_done);
    // Nothing is left to do.
    bool over() const { return stage_ == Stage::over; }
    // The machine has something in hand, and nothing may be said for long.
    bool working() const { return calls_ > 0 || !mending_.empty() || digests_.working(); }
    // How much of that was done so far: it grows while the machine gets on.
    std::uint64_t looked() const {
        return events_ + digests_.read() + (tree_ == nullptr ? 0 : tree_->looked());
    }
    // It waits for whoever reads the changes.
    bool unread() const { return (!looks_.empty() || lists_) && !may_report(); }
    // Says that one of these is so.
    void ask_for_patience() { stream_.put(VerdictsRecord{next_verdict_, {}}); }
    const Totals& totals() const { return totals_; }

  private:
    enum class Stage {
        offers,
        clearing,  // what is in the way goes
        rest,      // until all is done
        removing,  // what is extraneous goes
        over,
    };
    struct Asked {
        std::uint32_t offer = 0;
        Offered offered;
        ports::TargetName target;
        std::size_t bytes = 0;
        Verdict once_clear = Verdict::changed;  // of what is blocked
        bool alone = false;                     // it lies in no tree
        bool stays = false;                     // what stands there
        bool recent = false;
        std::int64_t stood_ns = 0;  // its mtime
    };
    struct Blocked {
        std::uint32_t offer = 0;
        Verdict once_clear = Verdict::changed;
        std::string name;
        std::uint64_t size = 0;           // of a file
        std::optional<Error> foreseen{};  // a dry run: what is in the way would not go
    };

    struct Mending {
        std::string name;
        std::size_t bytes = 0;
        bool attributes = false;              // it gets others; else it is kept
        std::optional<std::uint64_t> size{};  // of a file
    };

    bool handle_offer(const OfferRecord& record);
    bool handle_digest(const DigestRecord& record);
    std::string name_of(const OfferRecord& record) const;
    void send_looks();
    void handle(ports::TargetEvent& event);
    void handle_looked(const ports::TargetEvent& event);
    void handle_extraneous(const ports::TargetEvent& event);
    Verdict judge_one(Asked& asked, const ports::Standing& standing);
    std::optional<Error> foreseen(const Asked& asked, const ports::Standing& standing) const;
    bool moves_anyway(const Asked& asked) const;
    Verdict adopt(const Offered& offered, const ports::Standing& standing, Verdict verdict);
    Verdict judge_further(Asked& asked, Verdict verdict);
    void note_shared(const Offered& offered, Verdict verdict);
    bool to_come(const Offered& offered, Verdict verdict) const;
    void act(Asked& asked, Verdict verdict);
    void compare(Asked&& asked, const ports::Standing& standing);
    void take_digests();
    void maybe_settle(std::uint32_t offer);
    void advance(bool rest_done);
    void unblock();
    bool may_remove();
    void list_more();
    void miss(const Mending& missed, const Error& error);
    bool may_report() const { return changes_ == nullptr || changes_->has_room(); }
    void report(Change change);

    // Content that is compared: what each end has of it, once it is known.
    struct Similar {
        Asked asked;
        ports::Standing standing;
        std::optional<std::optional<Digests>> here, there;  // inner: it can be read
        std::vector<Asked> further;                         // names of it
    };
    ports::TargetTree* const tree_;
    StreamSender& stream_;
    const Target& target_;
    Changes* const changes_;
    const OnFailure on_failure_;
    SyncRecord plan_;
    bool plan_set_ = false;
    std::unordered_set<std::string> done_before_;

    std::vector<std::string> entered_;  // names of directories, outermost first
    std::deque<ports::Look> looks_;     // to be asked for
    std::size_t looks_bytes_ = 0;       // of their names
    std::deque<Asked> asked_;           // in order, not judged
    std::size_t held_bytes_ = 0;        // of those that are not judged, or similar
    std::uint32_t next_offer_ = 0;
    std::uint32_t next_verdict_ = 0;
    std::vector<std::uint8_t> verdicts_;  // of this turn
    std::vector<Blocked> blocked_;
    struct ToCome {
        bool directory = false;
        bool failed = false;    // this was told
        std::size_t times = 1;  // a directory, of several sources
    };
    std::map<std::string, ToCome> to_come_;  // by name: what is to be announced, or told as failed
    std::size_t to_come_bytes_ = 0;
    ContentDigests digests_;
    std::unordered_map<std::uint32_t, Similar> similar_;             // by offer
    std::size_t further_ = 0;                                        // names, of all of these
    std::unordered_map<std::string, std::uint32_t> similar_shared_;  // those with further names
    // Names that have further ones: of what is wanted, and of what is blocked.
    NameHashes replaced_, blocked_shared_;
    // Likewise of what was left: what stands there may be anything, and no other name may be made
    // of it. Such a further name is a file of its own, for both ends alike, so both add the same
    // ones.
    NameHashes left_files_, left_links_;
    // Files that have further names and stand for one that was offered: whether they are mended.
    std::unordered_map<std::uint64_t, bool> adopted_;
    unsigned calls_ = 0;                                  // of the port, not answered
    std::unordered_map<std::uint64_t, Mending> mending_;  // by tag
    std::size_t mending_bytes_ = 0;
    std::uint64_t events_ = 0;  // of the port
    std::uint64_t next_mend_ = 0;
    std::uint64_t faults_ = 0;
    bool unlisted_ = false;  // what is extraneous is not wholly known
    bool offers_ended_ = false;
    bool removes_ = false;  // may_remove() said so
    bool lists_ = false;    // what goes is to be asked for
    Stage stage_ = Stage::offers;
    Totals totals_;
};

}  // namespace lambda::transfer
