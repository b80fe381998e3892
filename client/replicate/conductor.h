// Runs a job to its end: lists, plans, hands out work to the crew and keeps in the store what
// became of it; holds to windows and rates; tries again what failed, with back-off; hears pause and
// cancel from the store. Where the store is shared, other conductors do the same beside it: what a
// site needs is known from the store alone, and all work is done under a lease. It has no clock,
// thread or socket of its own: all of these are the crew's. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/replicate/crew.h"
#include "client/replicate/job.h"
#include "client/replicate/relays.h"
#include "client/replicate/store.h"

namespace lambda::client::replicate {

struct Ending {
    // left: this process can reach none of the destinations that are not done; others go on.
    enum class How { finished, interrupted, cancelled, left };
    How how = How::finished;
    // Of all transfers of this process: what was moved, and how.
    mover::Outcome moved;
    // What concerns a whole site or the sources; failures of files are in the store. Bounded by
    // Outcome::kMaxFailures.
    std::vector<Error> errors;
    std::vector<Error> unreached;  // of sites with which no session of this process stood
};

class Conductor {
  public:
    // How often requests are looked for, and the clock for windows and rates.
    static constexpr std::chrono::milliseconds kTick{500};
    // Heartbeats in the life of a lease, and the most between two.
    static constexpr int kBeats = 4;
    static constexpr std::chrono::milliseconds kBeat{2000};
    // Before a range, and a file, is tried again that a session writes which is not yet known to be
    // dead.
    static constexpr std::chrono::milliseconds kBusyPause{1000};
    static constexpr std::chrono::milliseconds kHeldPause{10'000};
    // Of all pauses of a file.
    static std::chrono::milliseconds longest_pause(const Job& job);
    // Pauses before a site is dialled again double between these.
    static constexpr std::chrono::milliseconds kFirstPause{500};
    static constexpr std::chrono::milliseconds kLongestPause{60'000};

    using Say = std::function<void(const std::string&)>;
    // All of them must outlive it. `owner`: not that of any other process, living or dead. `show`
    // hears at each beat what is being done, for people; nothing where it is empty.
    Conductor(const Job& job, Store& store, Crew& crew, std::string owner, Say say, Say show = {});

    // A fresh run, or one that was cut. Errors: the state cannot be kept, or the settings are
    // refused by a server; the run may go on later.
    Result<Ending> conduct(const Run& run);
    // What is known of it, also after an error; `how` means nothing then.
    const Ending& known() const { return result_; }

  private:
    struct SiteWork {
        SiteState state = SiteState::unlisted;
        std::size_t in_hand = 0;
        std::int64_t lead = 0;     // the lease by which we list or tidy it
        std::int64_t listing = 0;  // that by which it was listed
        bool left = false;         // given up by us alone, and why
        std::string why{};
        WallTime not_before = kNoTime;
        std::string waits{};  // for what, while nothing is in hand
        std::chrono::milliseconds pause{0};
        bool stood = false;  // a session with it; between servers, theirs
        bool troubled = false;
        std::uint64_t cuts = 0;  // sessions lost, after which it has not yet gone on
        // What its patience is counted from: since when it is in trouble, and since when all that
        // it would take is held by other sessions (kNoTime: it is not so).
        WallTime since = kNoTime;
        WallTime held_since = kNoTime;
    };

    Result<void> begin(const Run& run);
    Result<void> end();
    Result<bool> turn();  // false: at an end
    Result<void> hear();
    void keep_hours();
    Result<void> refresh();
    Result<void> beat();
    std::string waits() const;
    Result<void> fill();
    // Starts one piece of work at the site, if there is any.
    Result<bool> start_work(std::uint32_t number);
    Result<bool> start_listing(std::uint32_t number);
    Result<bool> start_moving(std::uint32_t number);
    Result<bool> start_tidying(std::uint32_t number);
    LeaseRequest request(std::uint32_t number);
    Result<Lease> lease(std::uint32_t number, TaskState from);
    Result<bool> take_lead(std::uint32_t number);
    Result<void> end_lead(std::uint32_t number);
    FleetMark mark(std::int64_t listing) const;
    void start(Work work);

    Result<void> handle(Done done);
    Result<void> handle_scan(Result<Listing> result, bool stopped);
    Result<void> handle_look(const Done& done, const Result<Standings>& result);
    Result<void> handle_check(const Done& done, const Result<Standings>& result);
    Result<void> handle_carried(const Done& done, const Result<mover::Outcome>& result);
    Result<void> handle_tidied(const Done& done, const mover::Outcome& outcome);
    std::vector<Settled> settled_by(const Load& load, const mover::Outcome& outcome) const;
    Settled failed(const Task& task, const Error& error) const;
    std::optional<Settled> later(std::uint32_t number, const Task& task, const Error& error) const;
    Result<void> settle(const Load& load, const std::vector<Settled>& settled);
    Result<void> release(const Done& done, TaskState state, std::chrono::milliseconds pause = {});
    void say_lost(const Load& load) const;
    Error end_by(const Error& error);

    Result<void> well(std::uint32_t number);
    Result<void> trouble(std::uint32_t number, const Error& error);
    Result<void> trouble(const Load& load, const Error& error);
    Result<void> held(std::uint32_t number, const Error& error);
    void excuse(SiteWork& site) const;
    Result<bool> may_leave();
    Result<void> give_up_left();
    Result<void> offer_relay(std::uint32_t number);
    void add_error(Error error);
    void add(const mover::Outcome& outcome);
    bool over() const;

    const Job& job_;
    Store& store_;
    Crew& crew_;
    const std::string owner_;
    const Say say_, show_;
    std::int64_t run_ = 0;
    RunState run_state_ = RunState::running;
    Request request_ = Request::none;
    std::uint64_t tickets_ = 0;
    std::set<std::int64_t> held_;  // leases of what is under way
    std::vector<SiteWork> sites_;
    std::optional<Relays> relays_;  // where the job wants them
    std::uint32_t first_ = 0;       // the site that is asked first for work
    std::shared_ptr<const Listing> source_;
    bool scanning_ = false;
    // Since all that is left is what we gave up: the others, and when each had beaten, until it is
    // known whether it lives.
    std::optional<Store::Heard> unheard_;
    bool forgets_ = true;  // the state has work of earlier runs
    bool open_ = true;     // the hours allow work, and nobody paused it
    bool paused_ = false;
    bool in_window_ = true;
    bool ending_ = false;
    BitRate rate_{-1};  // of a lane
    WallTime next_beat_ = kNoTime;
    // Transfers under way, since when there is one, and how long there was before.
    std::size_t carrying_ = 0;
    WallTime carrying_since_ = kNoTime;
    std::chrono::milliseconds carried_{0};
    std::uint64_t cut_bytes_ = 0;  // that we moved and that may be found kept
    Ending result_;
};

}  // namespace lambda::client::replicate
