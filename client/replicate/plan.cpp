#include "client/replicate/plan.h"

#include <algorithm>
#include <set>
#include <span>

#include "common/base/hex.h"
#include "common/base/name_parts.h"
#include "common/transfer/digest.h"
#include "common/transfer/filter.h"
#include "common/transfer/sync_plan.h"

namespace lambda::client::replicate {
namespace {

char letter(Kind kind) {
    switch (kind) {
        case Kind::file:
            return 'f';
        case Kind::directory:
            return 'd';
        case Kind::link:
            return 'L';
        case Kind::other:
            return 'S';
    }
    LAMBDA_ASSERT(false);
}

// As a receiver sets it: setuid and setgid are an owner's.
bool same_mode(const Standing& source, const Standing& there) {
    constexpr std::uint32_t kSet = 01777;
    return (source.mode & kSet) == (there.mode & kSet);
}

Decision decide_file(const Standing& source, const Standing& there, Which which,
                     Conflict conflict) {
    Decision decision{.change = Change::replace};
    decision.size = there.kind != Kind::file || source.size != there.size;
    decision.time = !transfer::same_time(source.mtime_ns, there.mtime_ns);
    if (!decision.size && !decision.time) {
        if (which == Which::missing || same_mode(source, there)) return {};
        return {.change = Change::adjust, .why = "mode differs", .mode = true};
    }
    if (which == Which::missing) return {.change = Change::none, .why = "exists there"};
    if (there.mtime_ns > source.mtime_ns && conflict != Conflict::replace) {
        if (conflict == Conflict::keep) return {.change = Change::none, .why = "newer there"};
        decision.change = Change::refuse;
        decision.why = "the destination's is newer, and the job says conflict: fail";
        return decision;
    }
    decision.why = decision.size && decision.time ? "size and time differ"
                   : decision.size                ? "size differs"
                                                  : "time differs";
    return decision;
}

// A pattern that means this name alone.
std::string exactly(const std::string& name) {
    if (!transfer::has_wildcards(name)) return "/" + name;
    std::string pattern = "/";
    for (const char c : name) {
        if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
        pattern += c;
    }
    return pattern;
}

}  // namespace

Decision decide(const Standing& source, const There& place, Which which, Conflict conflict) {
    if (place.unseen) {
        const bool spares = which != Which::all || conflict != Conflict::replace;
        if (!spares || source.kind != Kind::file)
            return {.change = Change::create, .why = "what stands there cannot be seen"};
        return {.change = Change::refuse,
                .why = "what stands there cannot be seen: " + place.unseen->sentence()};
    }
    const std::optional<Standing>& there = place.standing;
    if (!there) {
        if (which == Which::existing && source.kind == Kind::file)
            return {.change = Change::none, .why = "not there"};
        return {.change = Change::create, .why = "not there"};
    }
    const bool directory = source.kind == Kind::directory;
    if (!directory && there->kind == Kind::directory)
        return {.change = Change::refuse, .why = "a directory stands there"};
    if (directory && there->kind != Kind::directory) {
        return {.change = Change::refuse,
                .why = there->kind == Kind::link
                           ? "a link stands there, where a directory would be"
                           : "a file stands there, where a directory would be"};
    }
    if (source.kind == Kind::file) return decide_file(source, *there, which, conflict);
    Decision decision{.change = Change::adjust};
    decision.time = !transfer::same_time(source.mtime_ns, there->mtime_ns);
    decision.mode = directory && !same_mode(source, *there);
    if (there->kind != source.kind) {
        decision.change = Change::replace;
        decision.why = "something else stands there";
        return decision;
    }
    if (!decision.time && !decision.mode) return {};
    decision.why = decision.time && decision.mode ? "time and mode differ"
                   : decision.time                ? "time differs"
                                                  : "mode differs";
    return decision;
}

std::string itemised(const Decision& decision, Kind kind, session::Direction direction) {
    if (decision.change == Change::refuse) return "*refused   ";
    std::string text(11, '.');
    text[1] = letter(kind);
    const bool moves =
        kind == Kind::file && decision.change != Change::none && decision.change != Change::adjust;
    if (moves) {
        text[0] = direction == session::Direction::put ? '<' : '>';
    } else if (kind == Kind::link || decision.change == Change::create) {
        text[0] = 'c';
    }
    if (decision.change == Change::create) return text.replace(2, 9, 9, '+');
    if (decision.size) text[3] = 's';
    if (decision.time) text[4] = 't';
    if (decision.mode) text[5] = 'p';
    return text;
}

SitePlan plan_site(const Listing& source, const std::vector<There>& there, Which which,
                   Conflict conflict) {
    LAMBDA_ASSERT(there.size() == source.entries.size());
    SitePlan plan;
    std::set<std::pair<std::uint32_t, std::string_view>> refused;  // directories, and those below
    for (std::size_t i = 0; i < there.size(); ++i) {
        const auto& [root, name, standing] = source.entries[i];
        Decision decision = decide(standing, there[i], which, conflict);
        if (refused.contains({root, holder_of(name)}))
            decision = {.change = Change::refuse, .why = "its directory cannot stand there"};
        if (decision.change == Change::refuse && standing.kind == Kind::directory)
            refused.emplace(root, name);
        if (decision.change != Change::none) {
            plan.steps.push_back({static_cast<std::uint32_t>(i), decision});
        } else if (standing.kind == Kind::file) {
            Tally& into = decision.why.empty() ? plan.same : plan.left;
            ++into.files;
            into.bytes += standing.size;
        }
    }
    return plan;
}

std::vector<Range> ranges_of(std::uint64_t size, std::uint64_t most) {
    std::vector<Range> ranges;
    if (size <= most) return ranges;
    const std::uint64_t least = (size + kMostRanges - 1) / kMostRanges;
    const std::uint64_t length =
        (std::max(most, least) + kStageGrain - 1) / kStageGrain * kStageGrain;
    for (std::uint64_t first = 0; first < size; first += length)
        ranges.push_back({first, std::min(first + length, size)});
    return ranges;
}

std::string stage_name(const std::string& epoch, const Site& site, const std::string& name,
                       const Standing& standing) {
    const std::string all = epoch + '\0' + site.place() + '\0' + name + '\0' +
                            std::to_string(standing.size) + '\0' +
                            std::to_string(standing.mtime_ns);
    return to_hex(transfer::leaf_digest(std::as_bytes(std::span(all))));
}

std::vector<transfer::Rule> rules_of_tidying(const std::vector<transfer::Rule>& rules,
                                             const std::vector<std::string>& links) {
    std::vector<transfer::Rule> all;
    all.reserve(links.size() + rules.size() + 2);
    for (const std::string& link : links) all.push_back({true, exactly(link)});
    constexpr std::string_view kAllBelow = "/***";
    for (transfer::Rule rule : rules) {
        if (rule.include && rule.pattern.ends_with(kAllBelow)) {
            rule.pattern.resize(rule.pattern.size() - kAllBelow.size() + 1);
            all.push_back(rule);
            rule.pattern += "**/";
        } else if (rule.include && !rule.pattern.ends_with('/')) {
            rule.pattern += '/';
        }
        all.push_back(std::move(rule));
    }
    all.push_back({true, "*/"});
    all.push_back({false, "*"});
    return all;
}

}  // namespace lambda::client::replicate
