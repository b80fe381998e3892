// Both ends of a transfer keep the same account of it, each by itself, over any path.
#include "common/base/hex.h"
#include "common/receipt/account.h"
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;
using FoundKind = ports::Found::Kind;

namespace {

constexpr std::size_t kMiB = 1u << 20;
constexpr auto kBoth = {session::Direction::put, session::Direction::get};

struct Accounts {
    std::string lines;  // of the client
    const bool put;
    explicit Accounts(session::Direction direction) : put(direction == session::Direction::put) {}
    receipt::Account client{!put, [this](std::string_view some) { lines += some; }};
    receipt::Account server{put, nullptr};
    receipt::Tally there;

    void keep(Options& options) {
        options.adjust = [this](bool, engine::Setup& setup) {
            setup.records = setup.is_client ? &client : &server;
        };
    }
    // Once: that they agree.
    receipt::Tally settle() {
        const receipt::Tally here = client.finish();
        there = server.finish();
        CHECK(here.files == there.files);
        CHECK(here.adopted == there.adopted);
        CHECK(here.bytes == there.bytes);
        REQUIRE(here.lines == there.lines);
        return here;
    }
    bool has(const std::string& part) const { return lines.find(part) != std::string::npos; }
};

Options rough(session::Direction direction) {
    Options with;
    with.terms.direction = direction;
    with.terms.initial_rate = with.terms.highest_rate = BitRate{100e6};
    with.terms.sha256 = true;
    with.forward.loss = 0.01;
    with.backward.loss = 0.01;
    with.forward.reorder = 0.05;
    return with;
}

// The definition in docs/integrity.md, written down once more.
std::string tree_of(const std::vector<std::byte>& content) {
    std::vector<std::byte> text(8);
    store_u64(text.data(), content.size());
    for (std::size_t at = 0; at < content.size(); at += kMiB) {
        const auto leaf =
            transfer::sha256(ByteView(content).subspan(at, std::min(kMiB, content.size() - at)));
        text.insert(text.end(), leaf.begin(), leaf.end());
    }
    return to_hex(transfer::sha256(text));
}

}  // namespace

TEST_CASE("receipt: both ends agree over loss and lost connections, in SHA-256 too") {
    for (const auto direction : kBoth) {
        Options with = rough(direction);
        Accounts accounts(direction);
        accounts.keep(with);
        Run run(7, with,
                {{"large", "large"}, {"small", "small"}, {"gone", "gone"}, {"empty", "empty"}},
                {"into", true});
        run.source.files["large"] = {random_bytes(9 * kMiB + 77, 1), 5, 0644};
        run.source.files["small"] = {random_bytes(1000, 2), 6, 0644};
        run.source.files["empty"] = {{}, 7, 0644};
        for (int i = 1; i <= 6; ++i) {
            run.world.after(i * 100ms,
                            [&run, i] { run.feedback.cut(static_cast<std::uint16_t>(i % 4)); });
        }
        REQUIRE(run.run());
        CHECK(accounts.settle().files == 3);
        for (const char* name : {"large", "small", "empty"}) {
            INFO(name);
            const auto& content = run.source.files[name].bytes;
            CHECK((run.target.files["into/" + std::string(name)].bytes == content));
            CHECK(accounts.has("\"path\":\"" + std::string(name) +
                               "\",\"size\":" + std::to_string(content.size())));
            CHECK(accounts.has("\"sha256-tree-1MiB\":\"" + tree_of(content) + "\""));
        }
        CHECK_FALSE(accounts.has("\"path\":\"gone\""));
    }
}

TEST_CASE("receipt: what is read back, and what is all hole, has its SHA-256") {
    Options with = rough(session::Direction::put);
    with.terms.read_back = true;
    Accounts accounts(with.terms.direction);
    accounts.keep(with);
    Run run(8, with, {{"large", "large"}, {"zeros", "zeros"}}, {"into", true});
    run.source.files["large"] = {random_bytes(3 * kMiB + 5, 1), 5, 0644};
    run.source.files["zeros"] = {std::vector<std::byte>(2 * kMiB + 9), 6, 0644};
    REQUIRE(run.run());
    CHECK(accounts.settle().files == 2);
    CHECK(accounts.has(tree_of(run.source.files["large"].bytes)));
    CHECK(accounts.has(tree_of(run.source.files["zeros"].bytes)));
}

TEST_CASE("receipt: what stood there is adopted, with its digest where both ends read it") {
    for (const auto direction : kBoth) {
        for (const bool checksum : {false, true}) {
            Options with = rough(direction);
            Accounts accounts(direction);
            with.adjust = [&](bool, engine::Setup& setup) {
                setup.records = setup.is_client ? &accounts.client : &accounts.server;
                if (setup.is_client) setup.plan = {.whole = true, .checksum = checksum};
            };
            Run run(9, with, {}, {"dir", true});
            const auto put = [&](const std::string& name, std::size_t bytes, bool stands) {
                run.source.files[name] = {random_bytes(bytes, bytes), 5, 0644, bytes};
                if (stands) run.target.files["dir/" + name] = run.source.files[name];
                ports::Found found{.path = name, .name = name};
                found.metadata = {bytes, 5, 0644};
                run.walker.entries.push_back(found);
            };
            ports::Found directory{.kind = FoundKind::directory, .path = ".", .name = "."};
            directory.metadata = {0, 7, 0755};
            run.walker.entries.push_back(directory);
            put("a", 100, true);
            put("b", 2 * kMiB, false);
            put("c", 70'000, true);
            run.walker.entries.push_back({.kind = FoundKind::leave});
            run.target.directories["dir"] = {0, 7, 0755};
            REQUIRE(run.run());
            const receipt::Tally tally = accounts.settle();
            CHECK(tally.files == 3);
            CHECK(tally.adopted == 2);
            CHECK(
                accounts.has("\"path\":\"c\",\"size\":70000,\"mtime\":\"1970-01-01T00:00:00."
                             "000000005Z\",\"adopted\":true" +
                             std::string(checksum ? ",\"xxh3-128\"" : "}")));
            for (const char* name : {"a", "c"}) {
                CHECK(accounts.has("\"sha256-tree-1MiB\":\"" +
                                   tree_of(run.source.files[name].bytes)) == checksum);
            }
        }
    }
}

TEST_CASE("receipt: a sender whose SHA-256 is not that of what came fails the file") {
    // It lies in the record: the content arrives, and its XXH3 agrees.
    Options with = rough(session::Direction::put);
    with.adjust = [](bool sends, engine::Setup& setup) {
        if (sends) setup.terms.sha256 = false;  // says none
    };
    Run run(10, with, {{"file", "file"}}, {"out", false});
    run.source.files["file"] = {random_bytes(2 * kMiB, 1), 5, 0644};
    REQUIRE(run.run());
    CHECK(run.receiver->outcome().failed == 1);
    CHECK(run.receiver->outcome().failures.at(0).error.fault == Fault::integrity);
    CHECK_FALSE(run.target.files.contains("out"));
}
