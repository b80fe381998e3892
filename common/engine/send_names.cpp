// SendSide: the names that are to be sent, and how they are walked.
#include "common/engine/send_side.h"
#include "common/transfer/filter.h"
#include "common/transfer/names.h"

namespace lambda::engine {
namespace {

// Names that a client may ask for in one transfer, and their bytes.
constexpr std::size_t kMostWants = std::size_t{1} << 20;

bool same(const transfer::WantRecord& one, const transfer::WantRecord& other) {
    return one.name == other.name && one.pattern == other.pattern && one.contents == other.contents;
}

}  // namespace

bool SendSide::handle_want(const transfer::WantRecord& want) {
    if (wants_done_ || names_left_.size() >= kMostWants) return false;
    if (setup_.only && !same(want, *setup_.only)) {
        cut(beyond_grant("another path was granted"));
        return true;
    }
    if (!walk_set_) set_walk({});
    const std::string name = transfer::base_name(want.name);
    names_left_.push_back({.path = want.name,
                           .name = want.contents || name.empty() ? "." : name,
                           .pattern = want.pattern});
    return true;
}

void SendSide::set_walk(const transfer::WalkRecord& walk) {
    walk_set_ = true;
    ports::WalkOptions options{.links = walk.links, .archive = walk.archive};
    if (!walk.rules.empty()) {
        options.excluded = [filter = transfer::Filter(walk.rules)](const std::string& name,
                                                                   bool directory) {
            return filter.excludes(name, directory);
        };
    }
    setup_.walker->set_options(std::move(options));
    if (walk.archive) source_.set_archive();
}

void SendSide::feed_walker() {
    while (!names_left_.empty() && setup_.walker->add(names_left_.front())) names_left_.pop_front();
    if (!names_left_.empty() || !wants_done_ || names_ended_) return;
    setup_.walker->no_more();
    names_ended_ = true;
}

}  // namespace lambda::engine
