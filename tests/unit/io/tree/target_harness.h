// What stands at a target, asked for one thing at a time.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/io/file/attributes.h"
#include "common/io/reactor.h"
#include "common/io/tree/target_tree.h"
#include "tests/unit/io/disk/disk_harness.h"

namespace lambda::io::testing {

using ports::Look;
using ports::TargetEvent;
using StandingKind = ports::Standing::Kind;

struct Asked {
    std::unique_ptr<Reactor> reactor = std::move(Reactor::make().value());
    std::unique_ptr<TargetTree> made = *TargetTree::make(Root::machine(), *reactor);
    TargetTree& tree = *made;

    TargetEvent next() {
        const Time limit = Clock().now() + 20s;
        while (Clock().now() < limit) {
            auto events = tree.poll();
            if (!events.empty()) {
                REQUIRE(events.size() == 1);
                return std::move(events.front());
            }
            reactor->wait(limit);
        }
        FAIL("no event");
        return {};
    }
    TargetEvent look(std::vector<Look> looks) {
        tree.look(std::move(looks));
        return next();
    }
    std::vector<std::string> extraneous(bool in_the_way, bool remove) {
        std::vector<std::string> names;
        while (true) {
            tree.next_extraneous(in_the_way, remove);
            const TargetEvent event = next();
            REQUIRE_FALSE(event.error);
            if (event.list.empty()) return names;
            CHECK(event.list.size() <= TargetTree::kMostListed);
            for (const auto& each : event.list) names.push_back(each.name);
        }
    }
};

inline Look at(const std::string& base, const std::string& name,
               Look::Step step = Look::Step::entry) {
    return {.step = step, .target = {base, name == "." ? "" : name}, .name = name};
}
inline Look enter(const std::string& base, const std::string& name) {
    return at(base, name, Look::Step::enter);
}
inline const Look kLeave{.step = Look::Step::leave};

using Names = std::vector<std::string>;

inline std::int64_t mtime_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return nanoseconds_of(status.st_mtim);
}

}  // namespace lambda::io::testing
