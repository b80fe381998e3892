#include "common/session/range.h"

#include "common/session/facts.h"
#include "common/session/terms.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::session;

namespace {

const FileVersion kFile{.size = 10 * MiB + 3, .mtime_ns = -1'500'000'001, .id = UINT64_MAX};

std::optional<RangeOffer> read(const std::string& text, bool put) {
    const auto parsed = Facts::parse(text);
    REQUIRE(parsed.ok());
    FactReader reader(parsed->facts);
    auto offer = read_range(parsed->facts, reader, put);
    if (reader.error()) return std::nullopt;
    return offer;
}

std::string written(const RangeOffer& offer) {
    Facts facts;
    add_range(facts, offer);
    return facts.text();
}

RangeOffer put_of(Range bytes) {
    return {.range = {.bytes = bytes, .version = kFile}, .stage = "a.B_9-", .fence = UINT64_MAX};
}

}  // namespace

TEST_CASE("a range survives the wire") {
    for (const Range& bytes : {Range{0, MiB}, Range{2 * MiB, 10 * MiB + 3}}) {
        const RangeOffer put = put_of(bytes);
        CHECK(read(written(put), true) == put);
        const RangeOffer get{.range = {.bytes = bytes, .version = kFile}, .stage = {}};
        CHECK(read(written(get), false) == get);
    }
    for (const Range& bytes : {Range{7, 8}, Range{7, kToTheEnd}, Range{0, kMostFileBytes}}) {
        const RangeOffer get{.range = {.bytes = bytes, .version = {}}, .stage = {}};
        CHECK(read(written(get), false) == get);
    }
}

TEST_CASE("ranges of a stage fit the file, and everything is said of them") {
    for (const Range& bytes :
         {Range{1, MiB}, Range{0, MiB - 1}, Range{0, 11 * MiB}, Range{11 * MiB, 12 * MiB}}) {
        CHECK_FALSE(read(written(put_of(bytes)), true));
    }
    const std::string good = written(put_of({0, MiB}));
    REQUIRE(read(good, true));
    for (const std::string name : {"length", "whole", "modified", "inode", "stage"}) {
        const std::size_t at = good.find(name + "=");
        const std::size_t end = good.find(';', at);
        INFO(name);
        CHECK_FALSE(read(good.substr(0, at) + good.substr(end + 1), true));
        for (const std::string value :
             {"", "x", "-", "1.5", "99999999999999999999", "0x10", "a/b"}) {
            if (name == "stage" && is_stage_name(value)) continue;
            INFO(value);
            CHECK_FALSE(read(good.substr(0, at) + name + "=" + value + good.substr(end), true));
        }
    }
}

TEST_CASE("what is said of a range needs its offset") {
    const std::string good = written(put_of({0, MiB}));
    const std::string rest = good.substr(good.find(';') + 1);
    REQUIRE(good.starts_with("offset=0;"));
    for (const std::string& text :
         {rest, std::string("length=5;"), std::string("whole=-1;"), std::string("modified=x;"),
          std::string("inode=x;"), std::string("stage=a;"), std::string("fence=0;")}) {
        const auto parsed = Facts::parse(text);
        REQUIRE(parsed.ok());
        for (const bool put : {false, true}) {
            CAPTURE(text, put);
            FactReader reader(parsed->facts);
            read_range(parsed->facts, reader, put);
            REQUIRE(reader.error());
            CHECK(reader.error()->message.find("'offset'") != std::string::npos);
        }
    }
}

TEST_CASE("a claim that nobody counts has no fence") {
    RangeOffer put = put_of({0, MiB});
    put.fence = 0;
    CHECK(read(written(put), true) == put);
    CHECK_FALSE(read(written(put) + "fence=0;", true));
    CHECK_FALSE(read(written(put) + "fence=x;", true));
}

TEST_CASE("an offer carries a range, and no receipt with it") {
    Offer offer;
    offer.path = "/file";
    offer.range = put_of({0, MiB});
    const auto parsed = parse_offer(format_offer(offer));
    REQUIRE(parsed.ok());
    CHECK(parsed->range == offer.range);
    offer.terms.receipt = true;
    CHECK_FALSE(parse_offer(format_offer(offer)).ok());
    offer.range.reset();
    CHECK(parse_offer(format_offer(offer)).ok());
}

TEST_CASE("offsets and lengths never overflow") {
    CHECK_FALSE(read("offset=9223372036854775807;length=1;", false));
    CHECK_FALSE(read("offset=9223372036854775806;length=2;", false));
    CHECK(read("offset=9223372036854775806;length=1;", false));
    CHECK_FALSE(read("offset=18446744073709551615;length=2;", false));
    CHECK_FALSE(read("offset=-1;length=2;", false));
    CHECK_FALSE(read("offset=0;length=0;", false));
    CHECK_FALSE(read("offset=1;length=10;whole=10;modified=0;inode=0;", false));
}

TEST_CASE("STAGE survives the wire") {
    using Action = StageRequest::Action;
    for (const Action action : {Action::look, Action::finish, Action::discard}) {
        const StageRequest request{
            .action = action, .stage = {.name = "x", .source = kFile}, .path = "/a b;c/d"};
        const auto parsed = parse_stage(format_stage(request));
        REQUIRE(parsed.ok());
        CHECK(*parsed == request);
    }
    for (const char* text : {"", "do=look;", "do=look;stage=x;whole=1;modified=0;inode=0;",
                             "do=look;stage=x;whole=1;modified=0;inode=0; ",
                             "do=look;stage=x;whole=0;modified=0;inode=0; a",
                             "do=burn;stage=x;whole=1;modified=0;inode=0; a",
                             "do=look;stage=..%2f;whole=1;modified=0;inode=0; a",
                             "do=look;stage=x;whole=1;modified=9223372036854775808;inode=0; a"}) {
        INFO(text);
        CHECK_FALSE(parse_stage(text).ok());
    }
}

TEST_CASE("what is done survives the wire") {
    CHECK(parse_done(format_done({5, UINT64_MAX})) == Range{5, UINT64_MAX});
    for (const char* text : {"", "-", "1-", "-1", "2-1", "1-1", "1-2-3", "1 - 2", "a-b", "12"})
        CHECK_FALSE(parse_done(text));
}
