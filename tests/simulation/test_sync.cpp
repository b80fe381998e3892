// Trees over what stands at the target already: what is judged, what moves, what goes.
#include <algorithm>

#include "common/transfer/comparison.h"
#include "common/transfer/offering.h"
#include "tests/simulation/trees.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace lambda::transfer;
using namespace std::chrono_literals;
using StandingKind = ports::Standing::Kind;
using OfferKind = OfferRecord::Kind;

namespace {

OfferRecord record(OfferKind kind, std::string leaf) {
    OfferRecord made;
    made.kind = kind;
    made.leaf = std::move(leaf);
    return made;
}

struct Judged {
    const char* about;
    Offered offered;
    ports::Standing standing;
    SyncRecord plan;
    Verdict verdict;
};

}  // namespace

TEST_CASE("sync: what stands there is judged") {
    const ports::FileMetadata file{10, 5, 0644}, newer{10, 6, 0644}, longer{11, 5, 0644},
        mode{10, 5, 0600}, with_id{10, 5, 04644};
    const SyncRecord none{}, whole{.whole = true}, erase{.whole = true, .erase = true},
        update{.whole = true, .update = true}, existing{.whole = true, .existing = true},
        ignore{.whole = true, .ignore_existing = true}, checksum{.checksum = true};
    const ports::Standing nothing{}, beneath{.beneath = true},
        directory{.kind = StandingKind::directory, .metadata = file},
        other{.kind = StandingKind::other};
    const auto stands = [](const ports::FileMetadata& metadata) {
        return ports::Standing{.kind = StandingKind::file, .metadata = metadata};
    };
    const auto link = [&](const char* shows) {
        return ports::Standing{.kind = StandingKind::link, .metadata = file, .text = shows};
    };
    const Offered f{.metadata = file, .name = "f"};
    const Offered d{.kind = OfferKind::directory, .metadata = file, .name = "d"};
    const Offered l{.kind = OfferKind::link, .metadata = file, .name = "l", .text = "x"};
    const Offered s{.kind = OfferKind::same, .metadata = file, .name = "s", .text = "f"};
    const Offered suid{.metadata = with_id, .name = "f"};
    ports::Standing failed;
    failed.error = Error{.fault = Fault::file, .message = "no", .path = {}, .remedy = {}};
    ports::Standing first = stands(file);
    first.is_first = true;
    const Judged cases[] = {
        {"nothing there", f, nothing, none, Verdict::fresh},
        {"nothing there, existing", f, nothing, existing, Verdict::left},
        {"the same", f, stands(file), none, Verdict::stands},
        {"another time", f, stands(newer), none, Verdict::changed},
        {"another size", f, stands(longer), none, Verdict::changed},
        {"another mode", f, stands(mode), none, Verdict::attributes},
        {"newer, update", f, stands(newer), update, Verdict::left},
        {"as old, other size, update", f, stands(longer), update, Verdict::changed},
        {"ignored", f, stands(longer), ignore, Verdict::left},
        {"a new directory is not ignored", d, nothing, ignore, Verdict::fresh},
        {"a directory that is there is not ignored", d, directory, ignore, Verdict::stands},
        {"a file is not ignored where a directory is to be", d, stands(file), ignore,
         Verdict::left},
        {"below it nothing is made", f, beneath, ignore, Verdict::left},
        {"else it is", f, beneath, whole, Verdict::fresh},
        {"what cannot be looked at may be newer", f, failed, update, Verdict::left},
        {"what cannot be looked at may not exist", f, failed, existing, Verdict::left},
        {"what cannot be looked at may exist", d, failed, ignore, Verdict::left},
        {"a newer file of its own", s, stands(newer), update, Verdict::left},
        {"an older file of its own", s, stands(file), update, Verdict::changed},
        {"by digest, same size", f, stands(newer), checksum, Verdict::similar},
        {"by digest, other size", f, stands(longer), checksum, Verdict::changed},
        {"set-user-id is not kept without its owner", suid, stands(file), none, Verdict::stands},
        {"a directory in the way", f, directory, whole, Verdict::changed},
        {"a directory in the way that may go", f, directory, erase, Verdict::blocked},
        {"a link in the way", f, link("x"), whole, Verdict::changed},
        {"a device in the way", f, other, whole, Verdict::changed},
        {"what cannot be looked at", f, failed, whole, Verdict::changed},
        {"the same directory", d, directory, whole, Verdict::stands},
        {"a file where a directory is to be", d, stands(file), erase, Verdict::changed},
        {"the same link", l, link("x"), whole, Verdict::stands},
        {"another link", l, link("y"), whole, Verdict::changed},
        {"a further name", s, first, whole, Verdict::stands},
        {"a file of its own", s, stands(file), whole, Verdict::changed},
        {"a pipe at the source",
         {.kind = OfferKind::skipped, .metadata = file},
         other,
         erase,
         Verdict::left},
    };
    for (const Judged& each : cases) {
        INFO(each.about);
        CHECK(judge(each.offered, each.standing, each.plan, {}) == each.verdict);
    }
}

TEST_CASE("sync: owners and extended attributes count where they can be set") {
    const auto archived = [](std::uint32_t user, std::vector<ports::ExtendedAttribute> extended) {
        return ports::FileMetadata{1, 1, 0644, ports::Archived{{user, 1}, std::move(extended)}};
    };
    const auto verdict = [&](const ports::FileMetadata& offered, const ports::FileMetadata& there,
                             bool privileged) {
        return judge({.metadata = offered}, {.kind = StandingKind::file, .metadata = there}, {},
                     {.privileged = privileged});
    };
    const auto mine = archived(1, {}), yours = archived(2, {}),
               noted = archived(1, {{"user.note", "x"}}),
               trusted = archived(1, {{"trusted.note", "x"}}),
               labelled = archived(1, {{"security.label", "x"}});
    CHECK(verdict(mine, yours, true) == Verdict::attributes);
    CHECK(verdict(mine, yours, false) == Verdict::stands);
    CHECK(verdict(noted, mine, false) == Verdict::attributes);
    CHECK(verdict(mine, noted, false) == Verdict::attributes);
    CHECK(verdict(noted, noted, true) == Verdict::stands);
    CHECK(verdict(trusted, mine, true) == Verdict::attributes);
    CHECK(verdict(trusted, mine, false) == Verdict::stands);
    CHECK(verdict(mine, labelled, true) == Verdict::stands);
}

TEST_CASE("sync: the second time nothing moves") {
    for (const auto direction : kBoth) {
        Trees trees = small();
        CHECK(trees.run(direction).files == 5);
        CHECK(trees.same());
        CHECK(trees.told.sorted() == std::vector<std::string>{"create .", "create a", "create b",
                                                              "create sub", "create sub/c",
                                                              "create sub/d", "create z"});
        const auto before = trees.target_directories.size();
        const engine::Outcome second = trees.run(direction);
        CHECK(second.files == 0);
        CHECK(second.bytes == 0);
        CHECK(second.adopted == 5);
        CHECK(second.directories == 0);
        CHECK(trees.told.lines.empty());
        CHECK(trees.target_directories.size() == before);
    }
}

TEST_CASE("sync: what changed moves, what is extraneous goes, and only then") {
    for (const auto direction : kBoth) {
        for (const bool dry_run : {true, false}) {
            Trees trees = small();
            trees.run(direction);
            trees.add("new", 10);
            trees.source["a"].mtime_ns = 9;
            trees.source["z"].mode = 0600;
            trees.target["dir/gone"] = {};
            trees.target["dir/x/y"] = {};
            trees.target_directories["dir/x"] = {};
            trees.target.erase("dir/sub/d");
            trees.target["dir/sub/d/in the way"] = {};
            trees.target_directories["dir/sub/d"] = {};
            const auto target = trees.target;
            trees.plan.erase = true;
            trees.plan.dry_run = dry_run;
            const engine::Outcome outcome = trees.run(direction);
            CHECK(trees.told.sorted() ==
                  std::vector<std::string>{"attributes z", "create new", "delete gone",
                                           "delete sub/d", "delete sub/d/in the way", "delete x",
                                           "delete x/y", "replace a", "replace sub/d"});
            CHECK(outcome.deleted == 5);
            CHECK(outcome.failed == 0);
            CHECK(outcome.files == (dry_run ? 0 : 3));
            CHECK(outcome.mended == 1);
            CHECK(trees.same() == !dry_run);
            if (dry_run) CHECK(trees.target.size() == target.size());
        }
    }
}

TEST_CASE("sync: nothing is deleted over the limit, nor after a fault at the source") {
    Trees trees = small();
    trees.run();
    trees.plan.erase = true;
    for (const char* name : {"dir/x", "dir/y", "dir/z2"}) trees.target[name] = {};
    trees.plan.max_delete = 2;
    engine::Outcome outcome = trees.run();
    CHECK(outcome.failed == 1);
    CHECK(outcome.deleted == 0);
    CHECK(trees.target.size() == 8);
    trees.plan.max_delete = 3;
    trees.source["b"].mtime_ns = 77;
    {
        // The walker tells of one more than there is.
        Trees faulty = trees;
        faulty.source["gone before it is opened"] = {};
        auto lost = faulty.source;
        faulty.plan.erase = true;
        Options with;
        with.adjust = [&](bool, engine::Setup& setup) {
            if (setup.is_client) setup.plan = faulty.plan;
        };
        Run now(7, with, {}, {"dir", true});
        now.walker.entries = faulty.walk();
        lost.erase("gone before it is opened");
        now.source.files = lost;
        now.target.files = faulty.target;
        now.target.directories = faulty.target_directories;
        CHECK(now.run());
        CHECK(now.sender->outcome().deleted == 0);
        CHECK(now.sender->outcome().failed == 2);
        CHECK(now.target.files.contains("dir/x"));
        CHECK(now.target.files.at("dir/b").mtime_ns == 77);
    }
    outcome = trees.run();
    CHECK(outcome.deleted == 3);
    CHECK(trees.same());
}

TEST_CASE("sync: by digest, time tells nothing, and damage is found") {
    for (const auto direction : kBoth) {
        for (const bool whole : {true, false}) {
            Trees trees = small();
            trees.plan.whole = whole;
            trees.run(direction);
            trees.plan.checksum = true;
            trees.source["a"].mtime_ns = 99;                        // touched, and as it was
            trees.target["dir/b"].bytes[2u << 20] ^= std::byte{1};  // rotted
            const engine::Outcome outcome = trees.run(direction);
            CHECK(outcome.files == 1);
            CHECK(outcome.bytes == trees.source["b"].bytes.size());
            CHECK(outcome.adopted == 4);
            CHECK(outcome.mended == 1);
            CHECK(trees.same());
            if (whole) {
                CHECK(trees.told.sorted() == std::vector<std::string>{"attributes a", "replace b"});
            }
            CHECK(trees.run(direction).adopted == 5);
        }
    }
}

TEST_CASE("sync: by digest, what cannot be read fails alone") {
    Trees trees = small();
    trees.run();
    trees.plan.checksum = true;
    trees.unreadable = "z";
    const engine::Outcome outcome = trees.run();
    CHECK(outcome.failed == 1);
    CHECK(outcome.adopted == 4);
    CHECK(outcome.bytes == 0);
}

TEST_CASE("a tree that was cut goes on without the files that were done") {
    for (const auto direction : kBoth) {
        Trees trees;
        trees.plan = {};
        for (int i = 0; i < 30; ++i) trees.add("sub/" + std::to_string(10 + i), 900'000);
        CHECK(trees.run(direction, 600ms).files > 3);
        std::uint64_t done = 0;
        for (const auto& [name, file] : trees.target) done += name.starts_with("dir/sub/") ? 1 : 0;
        const engine::Outcome second = trees.run(direction);
        CHECK_FALSE(second.cut);
        CHECK(second.adopted == done);
        CHECK(second.files == 30 - done);
        CHECK(second.bytes == (30 - done) * 900'000);
        CHECK(trees.same());
        CHECK(trees.told.lines.empty());
    }
}

TEST_CASE("hostile receiver: verdicts about what was not offered end the transfer") {
    ListWalker walker;
    StreamSender stream;
    Offering offering(walker, stream, nullptr, nullptr);
    offering.set_plan({.whole = true});
    walker.entries.push_back({.path = "f", .name = "f"});
    std::vector<ports::Found> out;
    offering.take(out, 10);
    CHECK(out.empty());
    CHECK_FALSE(offering.handle_verdicts({0, {0, 0}}));
    CHECK_FALSE(offering.handle_verdicts({1, {0}}));
    CHECK_FALSE(offering.handle_settled({0, 1}));
    CHECK(offering.handle_verdicts({0, {static_cast<std::uint8_t>(Verdict::blocked)}}));
    CHECK_FALSE(offering.handle_verdicts({0, {1}}));
    offering.take(out, 10);
    CHECK(out.empty());
    CHECK_FALSE(offering.handle_settled({0, static_cast<std::uint8_t>(Verdict::blocked)}));
    CHECK_FALSE(offering.handle_settled({1, 1}));
    CHECK(offering.handle_verdicts({1, {}}));
    CHECK(offering.handle_settled({0, static_cast<std::uint8_t>(Verdict::changed)}));
    CHECK(offering.handle_settled({0, 1}));  // given out by then; nothing more comes of it
    offering.take(out, 10);
    CHECK(out.size() == 1);
    offering.take(out, 10);
    CHECK(out.size() == 1);
}

TEST_CASE("hostile sender: offers that make no sense end the transfer") {
    World world{1};
    Alarm alarm{world, [] {}};
    MemoryDisk disk{world, alarm, 4, 1u << 20};
    MemoryTree tree{world, alarm, disk};
    StreamSender stream;
    const Target target{"to", true};
    const auto fresh = [&] {
        return Comparison({&tree, nullptr}, stream, target, nullptr,
                          [](const std::string&, const Error&) {});
    };
    const OfferRecord file = record(OfferKind::file, "f"), leave = record(OfferKind::leave, ""),
                      directory = record(OfferKind::directory, "d"),
                      itself = record(OfferKind::directory, ".");
    {
        auto one = fresh();
        CHECK_FALSE(one.handle(leave));
        CHECK(one.handle(itself));
        CHECK_FALSE(one.handle(itself));
        CHECK(one.handle(directory));
        CHECK_FALSE(one.handle(itself));
        CHECK_FALSE(one.handle(SyncRecord{.whole = true}));  // too late
        CHECK_FALSE(one.handle(OfferedRecord{2, 0}));        // not left
        CHECK(one.handle(leave));
        CHECK(one.handle(leave));
        CHECK_FALSE(one.handle(OfferedRecord{3, 0}));  // not as many
        CHECK(one.handle(OfferedRecord{2, 0}));
        CHECK_FALSE(one.handle(OfferedRecord{2, 0}));
        CHECK_FALSE(one.handle(file));  // after their end
    }
    {
        auto one = fresh();
        CHECK(one.handle(SyncRecord{.whole = true}));
        CHECK_FALSE(one.handle(SyncRecord{.whole = true}));
        const OfferRecord deep = record(OfferKind::directory, std::string(255, 'd'));
        std::size_t levels = 0;
        while (levels < 100 && one.handle(deep)) ++levels;
        CHECK(levels == 4096 / 256);  // a name has an end
    }
    {
        auto one = fresh();
        std::size_t offers = 0;
        while (offers < 100'000 && one.handle(file)) ++offers;
        CHECK(offers <= 2 * kMostOffered);  // never answered, and bounded
    }
}
