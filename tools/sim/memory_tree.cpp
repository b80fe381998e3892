#include "tools/sim/memory_tree.h"

#include <algorithm>

namespace lambda::simulation {

using ports::Look;
using ports::Standing;
using ports::TargetEvent;

void MemoryTree::later(TargetEvent::Kind kind, std::function<void(TargetEvent&)> action) {
    const auto other = latencies.find(kind);
    ends_ = std::max(ends_, world_.now() + (other == latencies.end() ? latency : other->second));
    world_.after(ends_ - world_.now(), [this, kind, action = std::move(action)] {
        ended_.push_back({.kind = kind});
        action(ended_.back());
        owner_.set(Time{});
    });
}

std::vector<TargetEvent> MemoryTree::poll() {
    return std::exchange(ended_, {});
}

void MemoryTree::begin(const std::string& path) {
    later(TargetEvent::Kind::begun, [this, path](TargetEvent& event) {
        const auto below = [&](const auto& entry) { return entry.first.starts_with(path + "/"); };
        event.holds = std::any_of(disk_.files.begin(), disk_.files.end(), below) ||
                      std::any_of(disk_.directories.begin(), disk_.directories.end(), below);
    });
}

void MemoryTree::seek_extraneous(Kept kept, bool clears) {
    kept_ = std::move(kept);
    seeks_ = true;
    clears_ = clears;
}

Standing MemoryTree::standing(const Look& look) const {
    Standing found;
    const std::string path = look.target.text();
    if (const auto file = disk_.files.find(path); file != disk_.files.end()) {
        found.kind = file->second.shows.empty() ? Standing::Kind::file : Standing::Kind::link;
        found.text = file->second.shows;
        found.metadata = {file->second.bytes.size(), file->second.mtime_ns, file->second.mode};
        if (!look.first) return found;
        const auto first = disk_.files.find(look.first->text());
        found.is_first = first != disk_.files.end() && first->second.bytes == file->second.bytes;
    } else if (const auto at = disk_.directories.find(path); at != disk_.directories.end()) {
        found.kind = Standing::Kind::directory;
        found.metadata = at->second;
    } else {
        found.beneath = std::any_of(entered_.begin(), entered_.end(), [this](const Look& outer) {
            return disk_.files.contains(outer.target.text());
        });
    }
    return found;
}

// Of a directory; `prefix` ends with a slash.
std::set<std::string> MemoryTree::children(const std::string& prefix) const {
    std::set<std::string> found;
    const auto add = [&](const std::string& path) {
        if (path.starts_with(prefix)) found.insert(path.substr(0, path.find('/', prefix.size())));
    };
    for (const auto& [path, file] : disk_.files) add(path);
    for (const auto& [path, metadata] : disk_.directories) add(path);
    return found;
}

void MemoryTree::look(std::vector<Look> looks) {
    later(TargetEvent::Kind::looked, [this, looks = std::move(looks)](TargetEvent& event) {
        for (const Look& each : looks) {
            if (each.step == Look::Step::leave) {
                const Look left = entered_.back();
                entered_.pop_back();
                const std::string prefix = left.target.text() + "/";
                for (const std::string& child : children(prefix)) {
                    const std::string leaf = child.substr(prefix.size());
                    if (seeks_ && !met_.contains(child))
                        gather(surplus_, child, left.name == "." ? leaf : left.name + "/" + leaf);
                }
                continue;
            }
            met_.insert(each.target.text());
            if (each.step == Look::Step::enter) entered_.push_back(each);
            if (each.skipped) continue;
            event.standings.push_back(standing(each));
            if (clears_ && each.step == Look::Step::entry &&
                event.standings.back().kind == Standing::Kind::directory)
                gather(in_the_way_, each.target.text(), each.name);
        }
    });
}

void MemoryTree::gather(std::vector<Gone>& into, const std::string& path, const std::string& name) {
    const bool directory = disk_.directories.contains(path);
    if (kept_ && kept_(name, directory)) return;
    std::vector<Gone> all;
    for (const auto& [at, file] : disk_.files) {
        if (at.starts_with(path + "/")) all.push_back({at, name + at.substr(path.size()), false});
    }
    for (const auto& [at, metadata] : disk_.directories) {
        if (at.starts_with(path + "/")) all.push_back({at, name + at.substr(path.size()), true});
    }
    std::sort(all.begin(), all.end(),
              [](const Gone& a, const Gone& b) { return a.path.size() > b.path.size(); });
    all.push_back({path, name, directory});
    found_ += all.size();
    into.insert(into.end(), all.begin(), all.end());
}

void MemoryTree::mend(std::uint64_t tag, ports::TargetName target, ports::FileMetadata metadata,
                      std::int64_t) {
    later(TargetEvent::Kind::mended, [this, tag, target = std::move(target),
                                      metadata = std::move(metadata)](TargetEvent& event) {
        MemoryFile& file = disk_.files.at(target.text());
        file.mtime_ns = metadata.mtime_ns;
        file.mode = metadata.mode;
        event.tag = tag;
    });
}

void MemoryTree::keep(std::uint64_t tag, ports::TargetName) {
    later(TargetEvent::Kind::mended, [tag](TargetEvent& event) { event.tag = tag; });
}

void MemoryTree::next_extraneous(bool in_the_way, bool remove) {
    later(TargetEvent::Kind::extraneous, [this, in_the_way, remove](TargetEvent& event) {
        std::vector<Gone>& list = in_the_way ? in_the_way_ : surplus_;
        const std::size_t count = std::min<std::size_t>(list.size(), 3);
        for (std::size_t i = 0; i < count; ++i) {
            event.list.push_back({.name = list[i].name, .directory = list[i].directory});
            if (!remove) continue;
            disk_.files.erase(list[i].path);
            disk_.directories.erase(list[i].path);
        }
        list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    });
}

}  // namespace lambda::simulation
