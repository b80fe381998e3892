#include "client/transfer/landing.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

#include "client/home/home.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

namespace fs = std::filesystem;

Marks marks_of_user() {
    return Marks(state_directory() + "/landings", "lambda-ftp landing 1");
}

// The same whether it is there by now or not, and whatever leads to it.
std::string real_path(const fs::path& path) {
    std::error_code failed;
    const fs::path real = fs::weakly_canonical(fs::absolute(path, failed), failed);
    return failed ? path.string() : real.string();
}
std::string real_target(const std::string& path) {
    const fs::path target(path);
    const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
    return (fs::path(real_path(parent)) / target.filename()).string();
}

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

bool is_directory(const std::string& path) {
    std::error_code unknown;
    return fs::is_directory(path, unknown);
}
// Nothing that a tree could become stands there.
bool is_other(const std::string& path) {
    std::error_code unknown;
    return fs::exists(path, unknown) && !is_directory(path);
}

// Tells a directory from another one that took its name. Empty: there is none.
std::string identity_of(const std::string& directory) {
    struct statx status {};
    if (directory.empty() ||
        ::statx(AT_FDCWD, directory.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0)
        return {};
    return std::to_string(status.stx_ino) + " " + std::to_string(status.stx_btime.tv_sec) + "." +
           std::to_string(status.stx_btime.tv_nsec);
}

// What the tree holds lands in the directory that it became.
void become_contents_again(Plan& plan) {
    for (Item& item : plan.items) {
        if (item.name == "." || !is_directory(item.path)) continue;
        item.top = std::exchange(item.name, std::string("."));
        plan.several = true;
    }
}

}  // namespace

Landing::Landing(Marks marks, std::initializer_list<std::string> ends, std::string here)
    : marks_(std::move(marks)), here_(std::move(here)) {
    for (const std::string& end : ends) known_by_.append(end).push_back('\0');
}

std::shared_ptr<Landing> Landing::of(const Plan& plan) {
    if (plan.items.size() != 1) return nullptr;
    const Item& item = plan.items.front();
    const bool put = plan.direction == session::Direction::put;
    return std::make_shared<Landing>(
        marks_of_user(),
        std::initializer_list<std::string>{
            // Hosts that share a home have paths of their own.
            put ? "put" : "get", host_name(), plan.server.user, plan.server.endpoint(),
            put ? real_path(item.path) : without_slash(item.path),
            put ? plan.remote_target : real_target(plan.local_target.path)},
        put ? std::string() : plan.local_target.path);
}

std::shared_ptr<Landing> Landing::of(const CopyPlan& plan) {
    const auto& [from, to] = std::tie(plan.source, plan.destination);
    return std::make_shared<Landing>(
        marks_of_user(),
        std::initializer_list<std::string>{"copy", from.server.user, from.server.endpoint(),
                                           without_slash(from.path), to.server.user,
                                           to.server.endpoint(), to.path});
}

// What was cut by a kill has the name alone.
bool Landing::goes_on() const {
    const auto made = marks_.find(known_by_, std::time(nullptr));
    return made && (made->empty() || *made == identity_of(here_));
}

void Landing::keep() {
    auto kept = marks_.keep(known_by_, identity_of(here_), std::time(nullptr));
    kept_ = kept.ok();
    if (!kept) unkept_ = kept.error();
}

void Landing::begins() {
    if (kept_) return;
    first_ = !goes_on();
    keep();
}

void Landing::ended(bool over) {
    if (over) {
        marks_.drop(known_by_);
    } else if (kept_) {
        keep();  // the target is made by now
    }
}

bool recall_landing(Plan& plan) {
    if (!plan.landing || plan.items.front().name == "." || !plan.landing->goes_on()) return false;
    if (plan.direction == session::Direction::put) {
        become_contents_again(plan);
    } else {
        plan.asks_kind = plan.goes_on = is_directory(plan.local_target.path);
    }
    plan.landing->begins();
    return plan.goes_on || plan.several;
}

void begin_landing(const Plan& plan, bool into_directory) {
    const bool put = plan.direction == session::Direction::put;
    if (!plan.landing || (put ? into_directory : plan.local_target.into_directory)) return;
    // What a get's source is, nobody knows yet.
    if (put ? is_directory(plan.items.front().path) : !is_other(plan.local_target.path))
        plan.landing->begins();
}

void stay_landed(Plan& plan, bool into_directory) {
    if (plan.direction == session::Direction::put && !into_directory) become_contents_again(plan);
}

bool made_nothing(const mover::Outcome& outcome) {
    return !outcome.cut && outcome.cuts == 0 && outcome.failed > 0 &&
           outcome.files + outcome.links + outcome.directories + outcome.adopted == 0;
}

std::vector<transfer::Rule> rules_within(const std::string& top,
                                         const std::vector<transfer::Rule>& rules) {
    std::vector<transfer::Rule> within;
    for (const transfer::Rule& rule : rules) {
        const bool anchored = rule.pattern.starts_with('/');
        const std::size_t slash = rule.pattern.find('/', anchored ? 1 : 0);
        const std::string first = rule.pattern.substr(0, slash).substr(anchored ? 1 : 0);
        const bool deeper = slash != rule.pattern.npos && slash + 1 < rule.pattern.size();
        const bool any = first.find("**") != first.npos;
        if (deeper && !any && transfer::wild_match(first, top))
            within.push_back({.include = rule.include, .pattern = rule.pattern.substr(slash)});
        // One of the top itself, or of another tree's, says nothing of what this one holds.
        if (!anchored || any) within.push_back(rule);
    }
    return within;
}

std::string remedy_of(const Landing& landing, const std::string& source) {
    if (!landing.unkept()) return {};
    return "the same command would land in what this one made, since that could not be kept (" +
           landing.unkept()->sentence() + "): to go on, name the source " + source + "/";
}

}  // namespace lambda::client
