// A crew in virtual time, and the world that it works in: sources and destinations in memory, sites
// that can be down, files that are refused. Work takes as long as the world says.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/replicate/crew.h"

namespace lambda::client::replicate {

using std::chrono::milliseconds;

struct World {
    std::map<std::string, Standing> source;
    std::vector<std::map<std::string, Standing>> sites;
    std::set<std::pair<std::size_t, std::string>> refused;
    std::vector<Missed> missed;  // of the sources
    std::uint64_t missed_beyond = 0;
    std::uint64_t untold = 0;  // that fail while directories and links are set
    // What another session writes.
    std::function<bool(const std::string& name, WallTime)> held = [](const std::string&, WallTime) {
        return false;
    };
    std::function<bool(std::size_t site, WallTime)> down = [](std::size_t, WallTime) {
        return false;
    };
    std::size_t wordless = 0;    // loads, the first ones, of which an outcome names nothing
    std::set<std::size_t> deaf;  // sites that data do not reach, only control
    std::set<std::size_t> mute;  // sites that serve no other
    WallTime now{};              // also the store's
    milliseconds session{100};   // that any work takes
    double bytes_per_ms = 1e6;
    std::map<std::pair<std::size_t, std::string>, int> moved;                  // how often
    std::vector<std::pair<std::size_t, std::optional<std::uint32_t>>> served;  // a load, by whom
    std::vector<std::pair<WallTime, BitRate>> carried;  // when a load began, and at what rate

    void add(const std::string& name, std::uint64_t size) {
        source[name] = {.kind = Kind::file, .size = size, .mtime_ns = 42, .mode = 0644};
    }
};

class VirtualCrew final : public Crew {
  public:
    // The clock begins on a Monday at midnight.
    VirtualCrew(World& world, std::size_t lanes, WallTime start)
        : world_(world), lanes_(lanes), now_(start) {
        world_.now = start;
    }

    WallTime now() const override { return now_; }
    LocalTime local() const override {
        const auto s = now_.time_since_epoch().count() / 1000;
        return {static_cast<int>(s / 86400 % 7), static_cast<int>(s % 86400)};
    }
    bool interrupted() const override { return now_ >= interrupted_at; }
    std::size_t idle() const override { return lanes_ - under_way_.size(); }
    std::size_t busy() const override { return under_way_.size(); }
    std::string doing() const override { return "virtual work"; }

    void start(Work work) override {
        const std::size_t site = work.load.site;
        double bytes = 0;
        for (const Task& task : work.load.tasks) bytes += static_cast<double>(task.standing.size);
        const double limit = work.load.rate.bytes_per_second() / 1000;
        const double speed = limit > 0 ? std::min(limit, world_.bytes_per_ms) : world_.bytes_per_ms;
        const bool carries = work.kind == Work::Kind::carry;
        if (carries) world_.carried.emplace_back(now_, work.load.rate);
        const milliseconds takes =
            world_.session +
            (carries ? milliseconds(static_cast<std::int64_t>(bytes / speed)) : milliseconds(0));
        const bool down = work.kind != Work::Kind::scan && world_.down(site, now_);
        under_way_.push_back({now_, now_ + takes, down, false, std::move(work)});
    }
    void stop() override {
        for (UnderWay& each : under_way_) stop(each);
    }
    void stop(Work::Kind kind) override {
        for (UnderWay& each : under_way_) {
            if (each.work.kind == kind) stop(each);
        }
    }
    void stop(std::int64_t lease) override {
        for (UnderWay& each : under_way_) {
            if (each.work.load.lease == lease) stop(each);
        }
    }
    std::vector<Done> take() override {
        std::vector<Done> done;
        for (auto each = under_way_.begin(); each != under_way_.end();) {
            if (each->ends > now_) {
                ++each;
                continue;
            }
            done.push_back(finish(std::move(*each)));
            each = under_way_.erase(each);
        }
        return done;
    }
    void wait(WallTime until) override {
        WallTime next = until;
        for (const UnderWay& each : under_way_) next = std::min(next, each.ends);
        now_ = std::max(now_, next);
        world_.now = now_;
        if (at_wait) at_wait(now_);
    }

    // Time goes on, also where something is done that nobody takes.
    void pass(milliseconds time) { world_.now = now_ += time; }

    WallTime interrupted_at = WallTime::max();
    std::function<void(WallTime)> at_wait;

  private:
    struct UnderWay {
        WallTime began;
        WallTime ends;
        bool down;
        bool stopped;
        Work work;
    };

    void stop(UnderWay& each) const {
        if (each.ends <= now_) return;  // it is done
        each.stopped = true;
        each.ends = now_;
    }

    static Error lost(Fault fault) {
        return {.fault = fault,
                .message = "no network",
                .path = {},
                .side = Side::network,
                .remedy = {}};
    }

    static Error refused() {
        return {.fault = Fault::session,
                .message = "wrong password",
                .path = {},
                .side = Side::remote,
                .remedy = {}};
    }

    static Error held_error() {
        return {.fault = Fault::cut,
                .message = "another transfer is writing this file",
                .path = {},
                .side = Side::remote,
                .remedy = {}};
    }

    Done finish(UnderWay ended) {
        const Load& load = ended.work.load;
        const bool stopped = ended.stopped;
        const auto told = [&](auto result) {
            return Done{
                .work = std::move(ended.work), .stopped = stopped, .result = std::move(result)};
        };
        switch (ended.work.kind) {
            case Work::Kind::scan: {
                if (stopped) return told(Result<Listing>(lost(Fault::session)));
                Listing listing;
                listing.missed = world_.missed;
                listing.missed_beyond = world_.missed_beyond;
                for (const auto& [name, standing] : world_.source)
                    listing.entries.push_back({.root = 0, .name = name, .standing = standing});
                return told(Result<Listing>(std::move(listing)));
            }
            case Work::Kind::look: {
                if (ended.down || stopped) return told(Result<Standings>(lost(Fault::session)));
                Standings all;
                for (const Entry& entry : ended.work.source->entries)
                    all.push_back(there(load.site, entry.name));
                return told(Result<Standings>(std::move(all)));
            }
            case Work::Kind::check: {
                if (ended.down || stopped) return told(Result<Standings>(lost(Fault::session)));
                Standings all;
                for (const Task& task : load.tasks) all.push_back(there(load.site, task.name));
                return told(Result<Standings>(std::move(all)));
            }
            case Work::Kind::carry: {
                auto outcome = carry(load, ended.down, stopped);
                if (outcome)
                    outcome->transfer_seconds =
                        std::chrono::duration<double>(ended.ends - ended.began).count();
                return told(std::move(outcome));
            }
        }
        LAMBDA_ASSERT(false);
    }

    std::optional<Standing> there(std::size_t site, const std::string& name) const {
        const auto at = world_.sites[site].find(name);
        if (at == world_.sites[site].end()) return std::nullopt;
        return at->second;
    }

    // One that is cut has done half of it; of that the client knows a half.
    Result<mover::Outcome> carry(const Load& load, bool down, bool stopped) {
        mover::Outcome outcome;
        if (load.tidy) {
            outcome.failed = world_.untold;
            for (const auto& [name, standing] : world_.source) {
                if (standing.kind != Kind::file) world_.sites[load.site][name] = standing;
            }
            return outcome;
        }
        world_.served.emplace_back(load.site, load.from);
        if (load.from && world_.mute.contains(*load.from)) return refused();
        if (world_.deaf.contains(load.site)) {
            outcome.cut = lost(Fault::cut);
            return outcome;
        }
        if (load.tasks.front().piece != Piece::whole && world_.held(load.tasks.front().name, now_))
            return held_error();
        const std::size_t count = load.tasks.size() / (down || stopped ? 2 : 1);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string& name = load.tasks[i].name;
            const bool missing = load.from && !there(*load.from, name);
            if (missing || world_.refused.contains({load.site, name})) {
                outcome.add_failure(name, {.fault = Fault::file,
                                           .message = "no leave",
                                           .path = {},
                                           .side = Side::remote,
                                           .remedy = {}});
                continue;
            }
            if (world_.held(name, now_)) {
                outcome.add_failure(name, held_error());
                continue;
            }
            ++world_.moved[{load.site, name}];
            world_.sites[load.site][name] =
                load.from ? world_.sites[*load.from][name] : world_.source[name];
            ++outcome.files;
            outcome.bytes += load.tasks[i].standing.size;
            if (count == load.tasks.size() || i < count / 2) outcome.done.push_back(name);
        }
        if (down || stopped) outcome.cut = lost(Fault::cut);
        if (world_.wordless > 0) {
            --world_.wordless;
            outcome.done.clear();
        }
        return outcome;
    }

    World& world_;
    std::size_t lanes_;
    WallTime now_;
    std::vector<UnderWay> under_way_;
};

}  // namespace lambda::client::replicate
