// A directory of files and directories at both ends of transfers in virtual time.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/transfer/sync_plan.h"
#include "tools/sim/run.h"

namespace lambda::simulation {

using namespace std::chrono_literals;
using namespace transfer;

struct Told final : Changes {
    std::vector<std::string> lines;
    std::size_t room = SIZE_MAX;
    bool has_room() const override { return lines.size() < room; }
    void put(Change change) override {
        lines.push_back(std::string(to_string(change.what)) + " " + change.name);
    }
    std::vector<std::string> sorted() const {
        std::vector<std::string> copy = lines;
        std::sort(copy.begin(), copy.end());
        return copy;
    }
};

// A directory `.` of files and directories of files, at both ends; runs of transfers between them.
struct Trees {
    std::map<std::string, MemoryFile> source, target;
    std::map<std::string, ports::FileMetadata> target_directories;
    SyncRecord plan{.whole = true};
    Told told;
    std::string unreadable;  // at the source
    std::function<void(engine::Setup&)> at_server;
    std::uint64_t runs = 0;

    void add(const std::string& name, std::size_t bytes) {
        source[name] = {random_bytes(bytes, source.size() + 1), 5, 0644, source.size() + 10};
    }

    std::deque<ports::Found> walk() const {
        std::deque<ports::Found> found;
        const auto directory = [&](const std::string& name) {
            ports::Found each{.kind = ports::Found::Kind::directory, .path = name, .name = name};
            each.metadata = {0, 7, 0755};
            found.push_back(each);
        };
        directory(".");
        std::string inside;
        for (const auto& [name, file] : source) {
            const std::size_t slash = name.find('/');
            const std::string where = slash == name.npos ? "" : name.substr(0, slash);
            if (where != inside && !inside.empty())
                found.push_back({.kind = ports::Found::Kind::leave});
            if (where != inside && !where.empty()) directory(where);
            inside = where;
            ports::Found each{.path = name, .name = name};
            each.metadata = {file.bytes.size(), file.mtime_ns, file.mode};
            found.push_back(each);
        }
        if (!inside.empty()) found.push_back({.kind = ports::Found::Kind::leave});
        found.push_back({.kind = ports::Found::Kind::leave});
        return found;
    }

    engine::Outcome run(session::Direction direction = session::Direction::put,
                        Duration limit = 1min) {
        Options with;
        with.terms.direction = direction;
        with.terms.initial_rate = with.terms.highest_rate = BitRate{200e6};
        with.limit = limit;
        told.lines.clear();
        with.adjust = [this](bool, engine::Setup& setup) {
            if (!setup.is_client) {
                if (at_server) at_server(setup);
                return;
            }
            setup.plan = plan;
            if (plan.whole) setup.changes = &told;
        };
        Run now(99 + ++runs, with, {}, {"dir", true});
        now.walker.entries = walk();
        now.source.files = source;
        now.source.fail_read.insert(unreadable);
        now.target.files = target;
        now.target.directories = target_directories;
        const bool ended = now.run();
        const bool put = direction == session::Direction::put;
        const engine::Outcome outcome = (put ? now.sender : now.receiver)->outcome();
        now.sender_host.stop();
        now.receiver_host.stop();
        if (!ended) now.target.let_go();
        target = now.target.files;
        target_directories = now.target.directories;
        return outcome;
    }

    bool same() const {
        return target.size() == source.size() &&
               std::all_of(source.begin(), source.end(), [&](const auto& each) {
                   const auto at = target.find("dir/" + each.first);
                   return at != target.end() && at->second.bytes == each.second.bytes &&
                          at->second.mtime_ns == each.second.mtime_ns &&
                          at->second.mode == each.second.mode;
               });
    }
};

inline Trees small() {
    Trees trees;
    trees.add("a", 100);
    trees.add("b", 3u << 20);
    trees.add("sub/c", 70'000);
    trees.add("sub/d", 0);
    trees.add("z", 5);
    return trees;
}

inline constexpr auto kBoth = {session::Direction::put, session::Direction::get};

}  // namespace lambda::simulation
