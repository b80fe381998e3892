// An Offering and a Comparison with the set stream between them, over a tree that a test tells:
// what stands where, by the name that the sender gives it. One thread, no clock.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/transfer/comparison.h"
#include "common/transfer/offering.h"
#include "tools/sim/list_walker.h"

namespace lambda::transfer::testing {

using FoundKind = ports::Found::Kind;
using StandingKind = ports::Standing::Kind;

inline Error error_of(const std::string& message) {
    return Error{.fault = Fault::file, .message = message, .path = {}, .side = {}, .remedy = {}};
}

struct ToldTree final : ports::TargetTree {
    std::map<std::string, ports::Standing> standing;
    std::vector<std::string> in_the_way, surplus;
    std::vector<std::string> removed, kept;
    std::vector<std::int64_t> mended_from;  // their times
    std::optional<Error> keep_error, mend_error;
    bool answers = true, keeps = true;
    std::string waits_for;  // the look at it, and all with it, are answered by answer()

    const ports::Rights& rights() const override { return rights_; }
    void begin(const std::string&) override { events_.push_back({.holds = true}); }
    void seek_extraneous(Kept, bool) override {}
    void look(std::vector<ports::Look> looks) override {
        ports::TargetEvent event{.kind = ports::TargetEvent::Kind::looked};
        bool waits = !answers;
        for (const ports::Look& each : looks) {
            if (each.step == ports::Look::Step::leave || each.skipped) continue;
            event.standings.push_back(standing[each.name]);
            waits = waits || each.name == waits_for;
        }
        (waits ? held_ : events_).push_back(std::move(event));
    }
    void answer() {
        answers = true;
        events_ = std::exchange(held_, {});
    }
    void mend(std::uint64_t tag, ports::TargetName, ports::FileMetadata,
              std::int64_t stood_ns) override {
        mended_from.push_back(stood_ns);
        events_.push_back({.kind = ports::TargetEvent::Kind::mended, .tag = tag});
        events_.back().error = mend_error;
    }
    void keep(std::uint64_t tag, ports::TargetName target) override {
        kept.push_back(target.below);
        ports::TargetEvent event{.kind = ports::TargetEvent::Kind::mended, .tag = tag};
        event.error = keep_error;
        (keeps ? events_ : held_).push_back(std::move(event));
    }
    std::uint64_t extraneous() const override { return in_the_way.size() + surplus.size(); }
    void next_extraneous(bool blocks, bool remove) override {
        ports::TargetEvent event{.kind = ports::TargetEvent::Kind::extraneous};
        for (std::string& name : std::exchange(blocks ? in_the_way : surplus, {})) {
            if (remove) removed.push_back(name);
            event.list.push_back({.name = std::move(name)});
        }
        events_.push_back(std::move(event));
    }
    std::uint64_t looked() const override { return 0; }
    std::vector<ports::TargetEvent> poll() override { return std::exchange(events_, {}); }

  private:
    const ports::Rights rights_;
    std::vector<ports::TargetEvent> events_, held_;
};

inline ports::Standing file_of(std::uint64_t size, std::int64_t mtime_ns) {
    return {.kind = StandingKind::file, .metadata = {size, mtime_ns, 0644}};
}

// Every file holds `content`; those named cannot be opened.
struct ToldReader final : ports::ContentReader {
    std::vector<std::string> unreadable;
    std::vector<std::byte> content;
    bool answers = true;

    void read(std::uint64_t tag, Place place, std::size_t, Take take) override {
        end(tag, place);
        if (!events_.back().error && !content.empty()) take({0, content.size()}, content);
    }
    void try_open(std::uint64_t tag, Place place) override { end(tag, place); }
    std::vector<ports::ContentRead> poll() override {
        return answers ? std::exchange(events_, {}) : std::vector<ports::ContentRead>{};
    }

  private:
    void end(std::uint64_t tag, const Place& place) {
        events_.push_back({.tag = tag, .size = content.size()});
        const auto* source = std::get_if<ports::SourceFile>(&place);
        if (source != nullptr && std::count(unreadable.begin(), unreadable.end(), source->path) > 0)
            events_.back().error = error_of("cannot open");
    }
    std::vector<ports::ContentRead> events_;
};

struct ToldChanges final : Changes {
    std::vector<std::string> lines;
    bool has_room() const override { return true; }
    void put(Change change) override {
        lines.push_back(std::string(to_string(change.what)) + " " + change.name);
    }
};

// Entries of a source.
inline ports::Found found(FoundKind kind, const std::string& name, const std::string& text = {}) {
    ports::Found made{.kind = kind, .path = name, .name = name, .text = text};
    made.metadata = {0, 5, 0644};
    made.follow = false;
    return made;
}
inline ports::Found shared_file(const std::string& name) {
    ports::Found made = found(FoundKind::file, name);
    made.further = 1;
    return made;
}
inline const ports::Found kLeave{.kind = FoundKind::leave};

class Ends {
  public:
    Ends(const SyncRecord& plan, std::vector<ports::Found> entries)
        : comparison({&tree, &reader}, back_, target_, nullptr,
                     [this](const std::string& name, const Error& error) {
                         missed.emplace_back(name, error);
                     }),
          offering(walker, out_, &source_reader, &changes) {
        walker.entries.push_back(found(FoundKind::directory, "."));
        for (ports::Found& each : entries) walker.entries.push_back(std::move(each));
        walker.entries.push_back(kLeave);
        walker.no_more();
        offering.set_plan(plan);
        plan_ = plan;
        tree.standing["."] = {.kind = StandingKind::directory, .metadata = {0, 5, 0644}};
    }

    // Until nothing is left to do. What the sender would send is done at once.
    void run() {
        if (!begin()) return;
        for (int turns = 0; turns < 1000 && !comparison.over(); ++turns) turn();
    }
    bool begin() { return comparison.set_plan(plan_); }
    void turn() {
        offering.turn(true);
        offering.take(given, 512);
        sound = carry(out_, to_receiver_, [this](const Record& record) {
            return Comparison::takes(record) && comparison.handle(record);
        });
        if (offering.ended() && std::exchange(reports_fault, false)) comparison.note_fault();
        comparison.turn(offering.ended());
        sound = sound && carry(back_, to_sender_, [this](const Record& record) {
                    if (const auto* holds = std::get_if<HoldsRecord>(&record))
                        offering.handle_holds(holds->something);
                    if (const auto* verdicts = std::get_if<VerdictsRecord>(&record))
                        return offering.handle_verdicts(*verdicts);
                    if (const auto* settled = std::get_if<SettledRecord>(&record))
                        return offering.handle_settled(*settled);
                    if (const auto* failed = std::get_if<MissedRecord>(&record))
                        offering.handle_missed(*failed);
                    return true;
                });
    }
    std::size_t carried_bytes = 0;  // both ways
    // After all was offered the sender finds what it cannot read.
    bool reports_fault = false;

    // What would be sent, by kind, but for directories.
    std::vector<std::string> sent(FoundKind kind) const {
        std::vector<std::string> names;
        for (const ports::Found& each : given) {
            if (each.kind == kind) names.push_back(each.name);
        }
        return names;
    }

    simulation::ListWalker walker;
    ToldTree tree;
    ToldReader reader, source_reader;
    ToldChanges changes;
    bool sound = true;
    std::vector<ports::Found> given;
    std::vector<std::pair<std::string, Error>> missed;

  private:
    template <class Handle>
    bool carry(StreamSender& from, RecordReader& to, const Handle& handle) {
        while (const auto piece = from.next_piece()) {
            to.put(piece->bytes);
            carried_bytes += piece->bytes.size();
            static_cast<void>(from.handle_consumed(piece->offset + piece->bytes.size()));
        }
        while (const auto record = to.next()) {
            if (!handle(*record)) return false;
        }
        return !to.broken();
    }
    StreamSender out_, back_;
    RecordReader to_receiver_, to_sender_;
    const Target target_{"to", true};
    SyncRecord plan_;

  public:
    Comparison comparison;
    Offering offering;
};

}  // namespace lambda::transfer::testing
