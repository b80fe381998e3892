// The sender's half of a comparison: stands between the walker and the source, offers what is
// found, and lets through only what the receiver has not (docs/protocol.md §7, "What stands there
// already"). What lies in no tree, and a target that holds nothing, need no offers. Pure; engine
// thread. Bounds: kMostOffered entries, kMostBlocked that are judged at the end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/ports/disk.h"
#include "common/ports/walker.h"
#include "common/transfer/content_digests.h"
#include "common/transfer/name_hashes.h"
#include "common/transfer/set_stream.h"
#include "common/transfer/sync_plan.h"

namespace lambda::transfer {

class Offering final : public ports::Walker {
  public:
    static constexpr std::size_t kMostBlocked = 4096;

    struct Totals {
        std::uint64_t adopted = 0;  // files that stood there already
        std::uint64_t adopted_bytes = 0;
        std::uint64_t mended = 0;  // of those, whose attributes did not agree
    };

    // `reader`: nothing where content is never compared. `changes`: where this end reports them, or
    // nothing.
    Offering(ports::Walker& walker, StreamSender& stream, ports::ContentReader* reader,
             Changes* changes);

    // Before the first take(); else nothing is asked for but what every tree gets.
    void set_plan(const SyncRecord& plan) { plan_ = plan; }
    bool erases() const { return plan_.erase; }
    // Names of files that lie in no tree and were done by an earlier try: they are offered, too.
    // Likewise.
    void set_done_before(const std::vector<std::string>& names) {
        done_before_.insert(names.begin(), names.end());
    }

    // Content is compared by SHA-256, too. Before the first take().
    void set_strong() { digests_.set_strong(); }

    void set_options(ports::WalkOptions options) override;
    bool add(ports::WalkRoot root) override { return walker_.add(std::move(root)); }
    void no_more() override { walker_.no_more(); }
    // What is to be sent. Each directory of it is entered and left, perhaps more than once.
    void take(std::vector<ports::Found>& out, std::size_t most) override;
    bool ended() const override;
    std::uint64_t looked() const override { return walker_.looked(); }
    // The walk goes on, and has found nothing more yet.
    bool walking() const { return found_.empty() && !walker_.ended(); }

    // Every turn. `rest_done`: of all that was given out nothing is under way.
    void turn(bool rest_done);
    // Content is read to be compared, and nothing may be said for long.
    bool working() const { return digests_.working(); }
    // How much of that was read so far: it grows while the machine gets on.
    std::uint64_t read() const { return digests_.read(); }
    // It waits for whoever reads the changes.
    bool unread() const { return (!items_.empty() || !unblocked_.empty()) && !may_report(); }

    void handle_holds(bool something) { holds_ = something; }
    // False: they are about nothing that was offered.
    bool handle_verdicts(const VerdictsRecord& record);
    bool handle_settled(const SettledRecord& record);
    void handle_missed(const MissedRecord& record);

    Totals totals() const;  // without what failed

  private:
    // A directory of the walk.
    struct Directory {
        ports::Found found;
        std::shared_ptr<Directory> outer;
        std::optional<Verdict> verdict;
        bool offered = false;
        bool entered = false;  // it was given out, and not left
    };
    struct Item {
        ports::Found found;
        std::shared_ptr<Directory> directory;  // that it lies in; of a directory: itself
        std::optional<std::uint32_t> offer;    // its number
        std::optional<Verdict> verdict;
        std::size_t bytes = 0;  // as offers count them
    };

    void admit();
    bool may_admit(const ports::Found& found) const;
    void admit(ports::Found found);
    bool needs_offer(const ports::Found& found) const;
    bool tells_of(const ports::Found& found) const;
    void offer(Item& item);
    void note_verdict(Item& item, Verdict verdict);
    void give(Item item, std::vector<ports::Found>& out);
    void keep_blocked(Item item, std::vector<ports::Found>& out);
    void enter(const std::shared_ptr<Directory>& directory, std::vector<ports::Found>& out);
    void give_settled(std::vector<ports::Found>& out);
    bool may_report() const { return changes_ == nullptr || changes_->has_room(); }
    void report(const Item& item);
    void end_offers();

    ports::Walker& walker_;
    StreamSender& stream_;
    Changes* const changes_;
    ContentDigests digests_;
    SyncRecord plan_;
    std::unordered_set<std::string> done_before_;
    std::optional<bool> holds_;  // something stands at the target

    std::deque<ports::Found> found_;  // not looked at
    std::vector<ports::Found> taken_;
    std::shared_ptr<Directory> inside_;  // where the walk is
    std::deque<Item> items_;             // in the walk's order, with or without verdicts
    std::size_t items_bytes_ = 0;
    std::uint64_t first_item_ = 0;     // how many went before the front
    std::deque<std::uint64_t> asked_;  // items that wait for a verdict, counted so
    std::uint32_t next_offer_ = 0, next_verdict_ = 0;
    std::unordered_map<std::uint32_t, std::uint64_t> unsettled_;  // by offer: which item
    std::unordered_map<std::uint32_t, Item> blocked_;             // by offer
    std::size_t blocked_bytes_ = 0;                               // with their directories'
    std::unordered_set<std::uint32_t> trying_;                    // of those: can it be opened?
    std::deque<Item> unblocked_;
    NameHashes left_files_;
    std::uint64_t faults_ = 0;
    bool offers_ended_ = false;
    Totals totals_;
    Totals failed_;  // of those, also before they count
};

}  // namespace lambda::transfer
