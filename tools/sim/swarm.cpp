#include "tools/sim/swarm.h"

#include <algorithm>
#include <exception>
#include <set>
#include <sstream>

#include "tools/sim/swarm_plan.h"

namespace lambda::simulation {
namespace {

using namespace std::chrono_literals;

// An end gives up after two minutes without progress; a stalled disk and what is on its way may
// move it for a little longer.
constexpr Duration kGiveUp = 150s;

// What a failure must say.
const char* reason(FileFault fault) {
    switch (fault) {
        case FileFault::none:
            break;
        case FileFault::missing:
            return "No such file";
        case FileFault::read:
            return "Input/output error";
        case FileFault::shrinks:
        case FileFault::changes:
            return "while it was";
        case FileFault::create:
            return "Permission denied";
        case FileFault::write:
            return "No space left";
        case FileFault::commit:
            return "Read-only file system";
    }
    return "";
}

class Swarm {
  public:
    Swarm(std::uint64_t seed, std::optional<Plant> plant)
        : plan_(draw_plan(seed)), run_(seed, plan_.options, names(plan_), plan_.target) {
        if (plant) {
            planted_.emplace(*plant, run_);
            run_.options.adjust = [this](bool sends, engine::Setup& setup) {
                planted_->install(sends, setup);
            };
        }
        prepare();
    }

    // The ends must be gone before the planted ports.
    ~Swarm() {
        run_.sender_host.stop();
        run_.receiver_host.stop();
    }

    SwarmResult run() {
        result_.story = describe(plan_);
        begin_ = run_.world.now();
        for (const PlannedMishap& mishap : plan_.mishaps) {
            run_.world.after(mishap.at, [this, &mishap] { happen(mishap); });
        }
        if (plan_.crash) expect_crash();
        try {
            ended_ = run_.run();
            check();
            if (crashed_ && !planted_) resume();
        } catch (const std::exception& problem) {
            wrong(std::string("exception: ") + problem.what());
        }
        count_faults();
        return std::move(result_);
    }

  private:
    static std::vector<transfer::SourceName> names(const SwarmPlan& plan) {
        std::vector<transfer::SourceName> made;
        for (const PlannedFile& file : plan.files) made.push_back({file.path, file.name});
        return made;
    }

    void wrong(std::string what) { result_.wrong.push_back(std::move(what)); }
    std::string place(const PlannedFile& file) const { return plan_.target.of(file.name).text(); }

    // ---- what goes wrong

    void prepare() {
        run_.source.latency = plan_.source_latency;
        run_.source.copies = plan_.source_copies;
        run_.target.latency = plan_.target_latency;
        for (auto* sockets : {&run_.client_sockets, &run_.server_sockets}) {
            for (const auto& socket : *sockets) {
                socket->overflows = plan_.overflows;
                socket->busy = plan_.busy;
            }
        }
        for (const PlannedFile& file : plan_.files) {
            if (file.fault != FileFault::missing) run_.source.files[file.path] = file.content;
            if (file.fault == FileFault::read) run_.source.fail_read.insert(file.path);
            if (file.fault == FileFault::create) run_.target.fail_create.insert(place(file));
            if (file.fault == FileFault::write) run_.target.fail_write.insert(place(file));
            if (file.fault == FileFault::commit) run_.target.fail_commit.insert(place(file));
            if (file.fault != FileFault::none)
                ++result_.faults[std::string("file ") + to_string(file.fault)];
        }
        run_.source.on_read = [this](const std::string& path, std::uint64_t) {
            for (const PlannedFile& file : plan_.files) {
                if (file.path != path) continue;
                MemoryFile& now = run_.source.files.at(path);
                if (file.fault == FileFault::shrinks)
                    now.bytes.resize(file.content.bytes.size() / 2);
                if (file.fault == FileFault::changes) now.mtime_ns = file.content.mtime_ns + 1;
            }
        };
    }

    void happen(const PlannedMishap& mishap) {
        if (run_.sender_host.over() || run_.receiver_host.over()) return;
        ++result_.faults[to_string(mishap.what)];
        Options& now = run_.options;
        const Time until = run_.world.now() + mishap.length;
        switch (mishap.what) {
            case Mishap::outage_forward:
                return outage({&now.forward}, mishap.length);
            case Mishap::outage_backward:
                return outage({&now.backward}, mishap.length);
            case Mishap::outage_both:
                return outage({&now.forward, &now.backward}, mishap.length);
            case Mishap::source_stalls:
                run_.source.stalled_until = std::max(run_.source.stalled_until, until);
                return;
            case Mishap::target_stalls:
                run_.target.stalled_until = std::max(run_.target.stalled_until, until);
                return;
            case Mishap::target_full:
                run_.target.full = true;
                return;
            case Mishap::feedback_cut:
                return run_.feedback.cut(mishap.stripe);
            case Mishap::feedback_cut_all:
                for (std::uint16_t i = 0; i < now.terms.stripes; ++i) run_.feedback.cut(i);
                return;
            case Mishap::feedback_stalled:
                return run_.feedback.stall(mishap.stripe);
            case Mishap::feedback_refused:
                run_.feedback.refuse = true;
                run_.world.after(mishap.length, [this] { run_.feedback.refuse = crashed_; });
                return;
            case Mishap::path_narrows:
                now.forward.largest = std::min<std::size_t>(now.forward.largest, 1472);
                return;
            case Mishap::first_hop_narrows:
                now.forward.first_hop = now.forward.largest =
                    std::min<std::size_t>(now.forward.largest, 1472);
                return;
        }
    }

    void outage(const std::vector<Path*>& paths, Duration length) {
        for (Path* path : paths) {
            path->dead = true;
            ++outages_[path];
            run_.world.after(length, [this, path] { path->dead = --outages_[path] > 0; });
        }
    }

    void expect_crash() {
        const auto later = [this] { run_.world.after(plan_.crash->at, [this] { crash(); }); };
        if (plan_.crash->share == 0) return later();
        double left = 0;
        for (const PlannedFile& file : plan_.files)
            left += plan_.crash->share * static_cast<double>(file.content.bytes.size());
        run_.target.on_write = [later, left](const std::string&, std::uint64_t,
                                             ByteSpan written) mutable {
            if (left <= 0) return;
            left -= static_cast<double>(written.size());
            if (left <= 0) later();
        };
    }

    void crash() {
        if (run_.sender_host.over() && run_.receiver_host.over()) return;
        Host& host = plan_.crash->sender ? run_.sender_host : run_.receiver_host;
        if (host.over()) return;
        crashed_ = true;
        crashed_at_ = run_.world.now();
        run_.feedback.refuse = true;
        ++result_.faults[std::string(plan_.crash->sender ? "sender" : "receiver") +
                         (plan_.crash->silent ? " gone silently" : " killed")];
        if (plan_.crash->silent) {
            host.freeze();
        } else {
            host.stop();
        }
    }

    // ---- what must hold

    void check() {
        if (!ended_) wrong("no end after ten minutes");
        if (run_.nonces_reused > 0) wrong("a nonce was used again for other bytes");
        bool finished = true;
        const bool sender_lives = !crashed_ || !plan_.crash->sender;
        const bool receiver_lives = !crashed_ || plan_.crash->sender;
        if (sender_lives) finished = check_end("sender", run_.sender->outcome()) && finished;
        if (receiver_lives) finished = check_end("receiver", run_.receiver->outcome()) && finished;
        if (crashed_ && run_.world.now() - crashed_at_ > kGiveUp)
            wrong("the end that was left alone did not give up in time");
        if (receiver_lives) {
            if (finished && run_.target.open_files() > 0) wrong("the receiver left a file open");
            run_.target.let_go();
        } else if (!plan_.crash->silent) {
            run_.target.let_go();
        } else {
            run_.receiver_host.stop();
            run_.target.lose_power();
        }
        check_target(finished && ended_, receiver_lives);
    }

    // Whether it came to its end by itself.
    bool check_end(const std::string& side, const engine::Outcome& outcome) {
        std::ostringstream told;
        told << "  " << side << ": " << outcome.files << " files, " << outcome.failed << " failed, "
             << outcome.bytes << " bytes, " << outcome.sent_packets << " packets, "
             << outcome.lost_packets << " lost, " << outcome.refused_packets << " refused, "
             << seconds(run_.world.now() - begin_) << " s\n";
        for (const auto& failure : outcome.failures)
            told << "    failed: " << failure.name << ": " << failure.error.sentence() << "\n";
        if (outcome.cut) told << "    cut: " << outcome.cut->sentence() << "\n";
        result_.story += told.str();

        if (outcome.verified != outcome.files)
            wrong("the " + side + " has a file done that was not verified");
        // In clear a long text is left to its leaf's digest.
        const bool left_to_leaves = run_.options.terms.protection == session::Protection::clear &&
                                    run_.options.forward.counters.flipped > 0;
        if (outcome.leaves_again > 0 && !left_to_leaves)
            wrong("the " + side + " has leaves whose digests were wrong");
        check_failures(side, outcome);
        if (outcome.cut) {
            if (!crashed_) wrong("the " + side + " was cut: " + outcome.cut->sentence());
            if (outcome.cut->fault != Fault::cut || outcome.cut->message.empty())
                wrong("the " + side + " was cut without a reason");
            return false;
        }
        if (outcome.files + outcome.failed != plan_.files.size())
            wrong("the " + side + " does not account for every file");
        return true;
    }

    void check_failures(const std::string& side, const engine::Outcome& outcome) {
        std::set<std::string> seen;
        for (const engine::FileFailure& failure : outcome.failures) {
            const std::string what =
                "the " + side + " says of " + failure.name + ": " + failure.error.sentence();
            if (!seen.insert(failure.name).second) wrong(what + " (twice)");
            const auto file =
                std::find_if(plan_.files.begin(), plan_.files.end(), [&](const PlannedFile& f) {
                    return f.name == failure.name || f.path == failure.name;
                });
            if (file == plan_.files.end()) {
                wrong(what + " (no such file was sent)");
                continue;
            }
            failed_.insert(file->name);
            const std::string& said = failure.error.message;
            const bool injected = file->fault != FileFault::none &&
                                  said.find(reason(file->fault)) != std::string::npos;
            const bool full = run_.target.full && !file->content.bytes.empty() &&
                              said.find(reason(FileFault::write)) != std::string::npos;
            if (!injected && !full) wrong(what + " (nothing of the kind was injected)");
        }
        if (outcome.cut) return;
        for (const PlannedFile& file : plan_.files) {
            if (file.fault != FileFault::none && !failed_.contains(file.name))
                wrong("the " + side + " does not say that " + file.name + " failed");
        }
    }

    // `all`: every file that did not fail must be there.
    void check_target(bool all, bool no_partials) {
        std::map<std::string, MemoryFile> there = run_.target.files;
        for (const PlannedFile& file : plan_.files) {
            const auto got = there.extract(place(file));
            const bool failed = file.fault != FileFault::none || failed_.contains(file.name);
            if (!got) {
                if (all && !failed) wrong(file.name + " is not there");
                continue;
            }
            if (failed) wrong(file.name + " failed and is there");
            const MemoryFile& now = got.mapped();
            if (now.bytes != file.content.bytes) wrong(file.name + " has other bytes");
            if (now.mtime_ns != file.content.mtime_ns) wrong(file.name + " has another mtime");
            if (now.mode != file.content.mode) wrong(file.name + " has another mode");
        }
        for (const auto& [name, file] : there) {
            const bool part = name.ends_with(".part"), journal = name.ends_with(".journal");
            const std::string beside = name.substr(0, name.rfind('.') + 1);
            if (!part && !journal) {
                wrong(name + " is there and nobody sent it");
            } else if (journal && !run_.target.files.contains(beside + "part")) {
                wrong(name + " was left without its partial file");
            } else if (part && no_partials && !run_.target.files.contains(beside + "journal")) {
                wrong(name + " was left behind");
            } else if (all) {
                wrong(name + " was left behind by a transfer that ended");
            }
        }
    }

    // ---- what was cut goes on

    void resume() {
        Options again = plan_.options;
        again.terms.stripes = static_cast<std::uint16_t>(1 + plan_.options.terms.stripes % 4);
        Run run(~plan_.seed, again, names(plan_), plan_.target);
        for (const PlannedFile& file : plan_.files) {
            if (file.fault != FileFault::missing) run.source.files[file.path] = file.content;
        }
        run.target.files = run_.target.files;
        if (!run.run()) return wrong("run again, it did not end");
        const engine::Outcome& outcome = run.receiver->outcome();
        if (outcome.cut) wrong("run again, it was cut: " + outcome.cut->sentence());
        if (outcome.bytes_kept > 0) ++result_.faults["transfer resumed"];
        std::map<std::string, MemoryFile> there = run.target.files;
        for (const PlannedFile& file : plan_.files) {
            if (file.fault == FileFault::missing) continue;
            const auto got = there.extract(place(file));
            if (!got || got.mapped().bytes != file.content.bytes)
                wrong("run again, " + file.name + " is not whole");
        }
        for (const auto& [name, file] : there) wrong("run again, " + name + " was left behind");
    }

    // ---- what was injected

    void count_faults() {
        auto& faults = result_.faults;
        for (const Path* path : {&run_.options.forward, &run_.options.backward}) {
            faults["packet lost"] += path->counters.lost;
            faults["packet duplicated"] += path->counters.duplicated;
            faults["packet reordered"] += path->counters.reordered;
            faults["packet truncated"] += path->counters.truncated;
            faults["packet with a flipped bit"] += path->counters.flipped;
            if (path->loss > 0 && path->burst > 1) ++faults["path that loses in bursts"];
        }
        for (const auto* sockets : {&run_.client_sockets, &run_.server_sockets}) {
            for (const auto& socket : *sockets) {
                faults["packet dropped by a full socket"] += socket->dropped();
                faults["burst that found the socket full"] += socket->times_busy;
            }
        }
        if (run_.key_ages.contains(1024) && run_.key_ages.contains(1023))
            ++faults["number wrapped at 2^32"];
        if (plan_.options.behind_nat) ++faults["client behind NAT"];
        if (plan_.options.server_ports > 0) ++faults["server with few ports"];
    }

    const SwarmPlan plan_;
    std::optional<PlantedPorts> planted_;
    Run run_;
    SwarmResult result_;
    Time begin_{};
    bool ended_ = false, crashed_ = false;
    Time crashed_at_{};
    std::map<Path*, int> outages_;
    std::set<std::string> failed_;
};

}  // namespace

SwarmResult run_swarm(std::uint64_t seed, std::optional<Plant> plant) {
    return Swarm(seed, plant).run();
}

}  // namespace lambda::simulation
