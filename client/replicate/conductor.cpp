#include "client/replicate/conductor.h"

#include <algorithm>

#include "client/replicate/plan.h"
#include "client/report/failures.h"
#include "common/dialling/retry.h"

namespace lambda::client::replicate {

using std::chrono::milliseconds;

Conductor::Conductor(const Job& job, Store& store, Crew& crew, std::string owner, Say say, Say show)
    : job_(job),
      store_(store),
      crew_(crew),
      owner_(std::move(owner)),
      say_(std::move(say)),
      show_(std::move(show)) {}

Result<Ending> Conductor::conduct(const Run& run) {
    // What runs keeps to the hours also where the state is away for long.
    store_.while_waiting([this] { keep_hours(); });
    auto going = begin(run);
    while (going) {
        const auto on = turn();
        if (!on) {
            going = on.error();
        } else if (!*on) {
            break;
        }
    }
    // What the state did not take cannot be given back to it; leases end by themselves.
    if (going) going = end();
    store_.while_waiting({});
    // Transfers side by side share their seconds; after an error some are still at work.
    if (carrying_ > 0) carried_ += crew_.now() - carrying_since_;
    double& moving = result_.moved.transfer_seconds;
    moving = std::min(moving, std::chrono::duration<double>(carried_).count());
    if (!going) return going.error();
    return result_;
}

Result<void> Conductor::end() {
    if (auto left = store_.leave(owner_); !left) return left;
    if (result_.how != Ending::How::finished) return {};
    if (auto given_up = give_up_left(); !given_up) return given_up;
    const bool others_go_on = std::any_of(sites_.begin(), sites_.end(), [](const SiteWork& site) {
        return site.left && site.state != SiteState::done && site.state != SiteState::given_up;
    });
    if (others_go_on) result_.how = Ending::How::left;
    return {};
}

// Whoever leaves what others may still reach leaves it to them; one that is dead would count as
// alive for the rest of its lease, and nobody would end the run. So each of them is to be heard of
// first, or to be gone, which takes a lease at most. Our own beats go on meanwhile.
Result<bool> Conductor::may_leave() {
    if (!over()) {
        unheard_.reset();
        return false;
    }
    const bool left =
        std::any_of(sites_.begin(), sites_.end(), [](const SiteWork& site) { return site.left; });
    if (!left || !store_.shared()) return true;
    const auto others = store_.others(owner_);
    if (!others) return others.error();
    if (!unheard_) {
        unheard_ = *others;
        if (!unheard_->empty())
            say_("nothing is left to do here; waits until it is known whether the others live");
    }
    std::erase_if(*unheard_, [&](const auto& mover) {
        const auto now = others->find(mover.first);
        return now == others->end() || now->second != mover.second;
    });
    return unheard_->empty();
}

// Of several who leave the same site, each saw the others until it had left itself: the last one
// sees nobody.
Result<void> Conductor::give_up_left() {
    for (std::uint32_t i = 0; i < sites_.size(); ++i) {
        SiteWork& site = sites_[i];
        if (!site.left || site.state == SiteState::done || site.state == SiteState::given_up)
            continue;
        const auto alone = store_.give_up(run_, i, owner_, site.why);
        if (!alone) return alone.error();
        if (*alone) site.state = SiteState::given_up;
    }
    return {};
}

Result<void> Conductor::begin(const Run& run) {
    run_ = run.id;
    sites_.resize(job_.sites.size());
    if (job_.relay) relays_.emplace(job_.sites.size());
    // First, since no site is listed anew while somebody has work at it in hand.
    const auto taken = store_.take_over(run_, owner_);
    if (!taken) return taken.error();
    if (auto hoped = store_.hope_again(run_); !hoped) return hoped;
    return refresh();
}

// What the others did is in the store.
Result<void> Conductor::refresh() {
    const auto view = store_.view(run_);
    if (!view) return view.error();
    run_state_ = view->run;
    request_ = view->request;
    if (view->sites.size() != sites_.size()) {  // a later run has begun
        run_state_ = RunState::cancelled;
        return {};
    }
    for (std::size_t i = 0; i < sites_.size(); ++i) {
        SiteWork& site = sites_[i];
        const SiteState before = std::exchange(site.state, view->sites[i]);
        site.listing = view->listings[i];
        const auto number = static_cast<std::uint32_t>(i);
        if (relays_ && site.state == SiteState::done && !relays_->ended(number)) {
            if (auto offered = offer_relay(number); !offered) return offered;
        }
        if (before != SiteState::given_up || site.state == before) continue;
        site.left = false;  // another mover has come, and hopes
        excuse(site);
    }
    return {};
}

Result<bool> Conductor::turn() {
    for (Done& done : crew_.take()) {
        if (auto handled = handle(std::move(done)); !handled) return handled.error();
    }
    if (auto heard = hear(); !heard) return heard.error();
    if (crew_.busy() == 0 && ending_) return false;
    keep_hours();
    if (!open_ && crew_.busy() == 0) {  // another's hours may be others
        for (std::uint32_t i = 0; i < sites_.size(); ++i) {
            if (auto ended = end_lead(i); !ended) return ended.error();
        }
    }
    if (auto beaten = beat(); !beaten) return beaten.error();
    if (forgets_ && !ending_) {  // some each turn, so that we beat in time
        const auto more = store_.forget(run_);
        if (!more) return more.error();
        forgets_ = *more;
    }
    if (open_ && !ending_) {
        if (auto filled = fill(); !filled) return filled.error();
    }
    if (crew_.busy() == 0) {
        const auto leaves = may_leave();
        if (!leaves) return leaves.error();
        if (*leaves) return false;
    }
    crew_.wait(crew_.now() + kTick);
    return true;
}

Result<void> Conductor::hear() {
    if (ending_) return {};
    if (crew_.interrupted()) {
        ending_ = true;
        result_.how = Ending::How::interrupted;
        crew_.stop();
        return {};
    }
    if (auto refreshed = refresh(); !refreshed) return refreshed;
    if (request_ == Request::cancel || run_state_ == RunState::cancelled) {
        ending_ = true;
        result_.how = Ending::How::cancelled;
        crew_.stop();
        return {};
    }
    if (run_state_ != RunState::running) ending_ = true;  // another mover ended it
    const bool pause = request_ == Request::pause;
    if (pause != paused_) say_(pause ? "paused; `replicate JOB resume` goes on" : "resumed");
    paused_ = pause;
    return {};
}

// What runs when the hours end, or moves files at another rate than the hour's, is stopped. What
// was moved goes on from there; a listing begins anew, so that no rate stops one. Does nothing with
// the store.
void Conductor::keep_hours() {
    const LocalTime local = crew_.local();
    const bool window = job_.windows.open(local);
    if (window != in_window_)
        say_(window ? "the window is open" : "waits for the window: " + job_.windows.text());
    in_window_ = window;
    const bool open = window && !paused_;
    const BitRate rate = job_.lane_rate(local);
    if (open && !open_) {
        for (SiteWork& site : sites_) excuse(site);  // nobody spoke to it
    }
    if (carrying_ == 0) rate_ = rate;
    open_ = open && rate == rate_;
    if (crew_.busy() > 0 && !open) {
        crew_.stop();
    } else if (rate != rate_) {
        crew_.stop(Work::Kind::carry);
    }
}

Result<void> Conductor::beat() {
    const WallTime now = crew_.now();
    const auto lives = std::chrono::ceil<milliseconds>(job_.lease);
    const milliseconds pause = std::min(kBeat, lives / kBeats);
    if (now < next_beat_) return {};
    next_beat_ = now + pause;
    std::string doing = crew_.doing();
    if (doing.empty()) doing = waits();
    if (paused_) {
        doing = "paused";
    } else if (!in_window_) {
        doing = "waits for the window: " + job_.windows.text();
    }
    if (show_) show_(doing);
    const auto mine = store_.beat({.owner = owner_, .heartbeat = now, .doing = doing}, lives);
    if (!mine) return mine.error();
    for (const std::int64_t lease : held_) {
        if (!mine->contains(lease)) crew_.stop(lease);
    }
    for (SiteWork& site : sites_) {
        if (!mine->contains(site.lead)) site.lead = 0;
    }
    if (!store_.shared()) return {};
    // A lease that came through although its commit was called off would live as long as we.
    for (const std::int64_t lease : *mine) {
        const bool ours = held_.contains(lease) ||
                          std::any_of(sites_.begin(), sites_.end(),
                                      [&](const SiteWork& site) { return site.lead == lease; });
        if (ours) continue;
        if (auto dropped = store_.drop(lease); !dropped) return dropped;
    }
    const auto taken = store_.take_over(run_, owner_);
    if (taken && *taken > 0)
        say_("took over what a mover that is gone had in hand: " + std::to_string(*taken) +
             (*taken == 1 ? " load" : " loads"));
    return taken ? Result<void>() : taken.error();
}

Result<void> Conductor::fill() {
    const auto count = static_cast<std::uint32_t>(sites_.size());
    bool any = true;
    while (crew_.idle() > 0 && any) {
        any = false;
        for (std::uint32_t i = 0; i < count && crew_.idle() > 0; ++i) {
            const auto started = start_work((first_ + i) % count);
            if (!started) return started.error();
            any = any || *started;
        }
        first_ = (first_ + 1) % count;
    }
    return {};
}

Result<bool> Conductor::start_work(std::uint32_t number) {
    SiteWork& site = sites_[number];
    if (site.left || site.not_before > crew_.now()) return false;
    const bool at_work = site.state != SiteState::done && site.state != SiteState::given_up;
    if (relays_ && at_work && !relays_->served(number)) {
        if (!relays_->assign(number)) return false;
    }
    switch (site.state) {
        case SiteState::unlisted:
            return start_listing(number);
        case SiteState::moving:
            return start_moving(number);
        case SiteState::tidying:
            return start_tidying(number);
        case SiteState::done:
        case SiteState::given_up:
            return false;
    }
    LAMBDA_ASSERT(false);
}

FleetMark Conductor::mark(std::int64_t listing) const {
    if (!job_.marks(store_.shared())) return {};
    return {.fleet = store_.epoch(), .listing = listing};
}

void Conductor::start(Work work) {
    if (work.kind != Work::Kind::scan) ++sites_[work.load.site].in_hand;
    if (work.kind == Work::Kind::carry && carrying_++ == 0) carrying_since_ = crew_.now();
    if (work.load.lease != 0) held_.insert(work.load.lease);
    crew_.start(std::move(work));
}

LeaseRequest Conductor::request(std::uint32_t number) {
    return {.owner = owner_,
            .ticket = ++tickets_,
            .run = run_,
            .site = number,
            .from = TaskState::waiting,
            .most_files = job_.batch_files,
            .most_bytes = job_.batch_size,
            .one_directory = true,
            .lives = std::chrono::ceil<milliseconds>(job_.lease)};
}

Result<bool> Conductor::take_lead(std::uint32_t number) {
    SiteWork& site = sites_[number];
    if (site.lead != 0) return true;
    const auto lead = store_.lead(request(number));
    if (!lead) return lead.error();
    site.lead = *lead;
    return site.lead != 0;
}

Result<void> Conductor::end_lead(std::uint32_t number) {
    const std::int64_t lead = std::exchange(sites_[number].lead, 0);
    if (lead == 0) return {};
    const auto ended = store_.settle(lead, {});
    return ended ? Result<void>() : ended.error();
}

Result<bool> Conductor::start_listing(std::uint32_t number) {
    if (scanning_ || sites_[number].in_hand > 0) return false;
    const auto leads = take_lead(number);
    if (!leads || !*leads) return leads;
    if (!source_) {
        scanning_ = true;
        start({.kind = Work::Kind::scan, .load = {}, .source = {}});
    } else {
        start({.kind = Work::Kind::look,
               .load = {.site = number,
                        .lease = sites_[number].lead,
                        .mark = mark(sites_[number].lead)},
               .source = source_});
    }
    return true;
}

Result<Lease> Conductor::lease(std::uint32_t number, TaskState from) {
    LeaseRequest wanted = request(number);
    wanted.from = from;
    wanted.one_directory = from == TaskState::waiting && !job_.carries_trees();
    return store_.lease(wanted);
}

Result<bool> Conductor::start_moving(std::uint32_t number) {
    for (const TaskState from : {TaskState::uncertain, TaskState::waiting}) {
        auto leased = lease(number, from);
        if (!leased) return leased.error();
        if (leased->number == 0) continue;
        const bool check = from == TaskState::uncertain;
        Load load{.site = number,
                  .lease = leased->number,
                  .tasks = std::move(leased->tasks),
                  .rate = rate_,
                  .mark = mark(sites_[number].listing)};
        const Task& one = load.tasks.front();
        if (is_part(one.piece))
            load.stage = stage_name(store_.epoch(), job_.sites[number], one.name, one.standing);
        // What failed once is the source's to serve.
        const bool first = std::all_of(load.tasks.begin(), load.tasks.end(),
                                       [](const Task& task) { return task.attempts == 0; });
        if (relays_ && first) load.from = relays_->from(number);
        start({.kind = check ? Work::Kind::check : Work::Kind::carry,
               .load = std::move(load),
               .source = {}});
        return true;
    }
    if (sites_[number].in_hand > 0) return false;
    const auto waiting = store_.waiting(run_, number);
    if (!waiting) return waiting.error();
    if (waiting->files > 0) {
        // What others have in hand may come back at any time.
        const milliseconds most = store_.shared() ? kBeat : waiting->next;
        sites_[number].not_before = crew_.now() + std::min(waiting->next, most);
        sites_[number].waits =
            waiting->reason.empty()
                ? std::string()
                : std::to_string(waiting->files) + " to be tried again: " + waiting->reason;
        return false;
    }
    sites_[number].waits.clear();
    const auto moved = store_.moved_all(run_, number);
    if (!moved) return moved.error();
    if (auto refreshed = refresh(); !refreshed) return refreshed.error();
    return *moved;
}

Result<bool> Conductor::start_tidying(std::uint32_t number) {
    if (sites_[number].in_hand > 0) return false;
    const auto leads = take_lead(number);
    if (!leads || !*leads) return leads;
    auto tasks = store_.untidied(run_, number);
    if (!tasks) return tasks.error();
    start({.kind = Work::Kind::carry,
           .load = {.site = number,
                    .lease = sites_[number].lead,
                    .tasks = *std::move(tasks),
                    .rate = rate_,
                    .tidy = true,
                    .mark = mark(sites_[number].listing)},
           .source = {}});
    return true;
}

// ---- sites

Result<void> Conductor::well(std::uint32_t number) {
    SiteWork& site = sites_[number];
    result_.moved.cuts += std::exchange(site.cuts, 0);
    site.held_since = kNoTime;
    site.pause = milliseconds(0);
    if (!std::exchange(site.troubled, false)) return {};
    say_(job_.sites[number].text + ": goes on");
    return store_.set_trouble(run_, number, "");
}

Result<void> Conductor::trouble(std::uint32_t number, const Error& error) {
    SiteWork& site = sites_[number];
    const WallTime now = crew_.now();
    if (site.left || site.state == SiteState::done || site.state == SiteState::given_up) return {};
    if (auto ended = end_lead(number); !ended) return ended;
    if (relays_) relays_->release(number);
    if (!site.troubled) site.since = now;
    if (!dialling::comes_back(error) || now - site.since >= job_.patience) {
        const auto alone = store_.give_up(run_, number, owner_, error.sentence());
        if (!alone) return alone.error();
        site.left = true;
        site.why = error.sentence();
        if (*alone) site.state = SiteState::given_up;
        Error said = error;
        said.message = job_.sites[number].text + ": given up: " + error.message;
        if (site.stood) {
            add_error(std::move(said));
        } else {
            result_.unreached.push_back(std::move(said));  // one a site
        }
        return {};
    }
    if (site.not_before <= now) {  // lanes beside this one heard the same
        site.pause = std::clamp(2 * site.pause, kFirstPause, kLongestPause);
        site.not_before = now + site.pause;
        if (!site.troubled)
            say_(job_.sites[number].text + ": " + passing(error).sentence() +
                 "; trying again until " + format_duration(job_.patience) +
                 " have passed without a byte");
    }
    site.troubled = true;
    return store_.set_trouble(run_, number, error.sentence());
}

// What another site could not serve is the source's to serve.
Result<void> Conductor::trouble(const Load& load, const Error& error) {
    if (!load.from) return trouble(load.site, error);
    say_(job_.sites[load.site].text + ": not served by " + job_.sites[*load.from].text + ": " +
         error.sentence() + "; the source serves it");
    if (relays_->from(load.site) == load.from) relays_->release(load.site);
    return {};
}

// It could be spoken to, and took nothing, since other sessions write what it should take.
Result<void> Conductor::held(std::uint32_t number, const Error& error) {
    SiteWork& site = sites_[number];
    if (site.held_since == kNoTime) site.held_since = crew_.now();
    if (crew_.now() - site.held_since < job_.patience) return {};
    site.troubled = true;
    site.since = site.held_since;
    return trouble(number, error);
}

// Its patience begins anew.
void Conductor::excuse(SiteWork& site) const {
    site.since = crew_.now();
    if (site.held_since != kNoTime) site.held_since = site.since;
}

Result<void> Conductor::offer_relay(std::uint32_t number) {
    const auto statuses = store_.sites(run_);
    if (!statuses) return statuses.error();
    relays_->end(number, (*statuses)[number].failed == 0);
    return {};
}

bool Conductor::over() const {
    return std::all_of(sites_.begin(), sites_.end(), [](const SiteWork& site) {
        return site.left || site.state == SiteState::done || site.state == SiteState::given_up;
    });
}

}  // namespace lambda::client::replicate
