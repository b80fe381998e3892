#include "common/session/terms.h"

#include <string>

#include "tests/support/catch.h"

namespace lambda::session {
namespace {

Offer some_offer() {
    Offer offer;
    offer.terms.stripes = 16;
    offer.terms.highest_rate = BitRate{2.5e9};
    offer.terms.known_rate = BitRate{1.5e9};
    offer.terms.window = 123456;
    offer.terms.block = 4 << 20;
    offer.terms.read_back = true;
    offer.terms.protection = Protection::safe;
    offer.terms.cipher = Cipher::chacha20_poly1305;
    offer.nonce.fill(std::byte{0xa5});
    offer.several = true;
    offer.path = " a path; with=facts;\xff";
    return offer;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("an offer survives the wire") {
    const Offer offer = some_offer();
    const Result<Offer> parsed = parse_offer(format_offer(offer));
    REQUIRE(parsed.ok());
    CHECK(parsed->terms == offer.terms);
    CHECK(parsed->nonce == offer.nonce);
    CHECK(parsed->several);
    CHECK(parsed->path == offer.path);
}

TEST_CASE("a reading back is agreed on by name, or left out") {
    const std::string good = format_offer(some_offer());
    CHECK_FALSE(parse_offer(replaced(good, "verify=readback", "verify=twice")).ok());
    CHECK_FALSE(parse_offer(replaced(good, "verify=readback;", ""))->terms.read_back);
    CHECK_FALSE(parse_offer(replaced(good, "readback", "transfer"))->terms.read_back);
}

TEST_CASE("an agreement survives the wire") {
    Agreement agreement;
    agreement.terms = some_offer().terms;
    agreement.nonce.fill(std::byte{1});
    agreement.transfer = UINT64_MAX;
    agreement.token = "00112233445566778899aabbccddeeff";
    agreement.ports = {50000, 50001, 65535};
    agreement.into_directory = true;
    const Result<Agreement> parsed = parse_agreement(format_agreement(agreement));
    REQUIRE(parsed.ok());
    CHECK(parsed->terms == agreement.terms);
    CHECK(parsed->nonce == agreement.nonce);
    CHECK(parsed->transfer == agreement.transfer);
    CHECK(parsed->token == agreement.token);
    CHECK(parsed->ports == agreement.ports);
    CHECK(parsed->into_directory);
}

TEST_CASE("unknown facts of an offer are ignored") {
    CHECK(parse_offer("new.thing=7;" + format_offer(some_offer())).ok());
}

TEST_CASE("a bad value of a known fact is refused by its name") {
    const std::string good = format_offer(some_offer());
    const std::pair<std::string, std::string> cases[] = {
        {"direction=put", "direction=push"},
        {"stripes=16", "stripes=0"},
        {"stripes=16", "stripes=65"},
        {"payload=65475", "payload=65476"},
        {"payload=65475", "payload=511"},
        {"syn=10000", "syn=999"},
        {"syn=10000", "syn=1000001"},
        {"initial=100000000", "initial=0"},
        {"highest=2500000000", "highest=1e9"},
        {"known=1500000000", "known=-1"},
        {"window=123456", "window=-1"},
        {"block=4194304", "block=4194305"},
        {"block=4194304", "block=33554432"},
        {"memory=184549376", "memory=1"},
        {"protection=safe", "protection=none"},
        {"cipher=chacha20-poly1305", "cipher="},
        {"congestion=sabul", "congestion=a_b"},
        {"congestion=sabul", "congestion=mimd:"},
        {"congestion=sabul", "congestion=:T=1s"},
        {"congestion=sabul", "congestion=mimd:T='1s'"},
        {"congestion=sabul", "congestion=mimd:" + std::string(252, 'x')},
        {"nonce=a5", "nonce=g5"},
        {"nonce=a5", "nonce="},
        {"several=1", "several=2"},
    };
    for (const auto& [from, to] : cases) {
        CAPTURE(to);
        const Result<Offer> parsed = parse_offer(replaced(good, from, to));
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().fault == Fault::usage);
        const std::string name = "'" + from.substr(0, from.find('=')) + "'";
        CHECK(parsed.error().message.find(name) != std::string::npos);
    }
    CHECK_FALSE(parse_offer(replaced(good, "syn=10000;", "")).ok());
}

TEST_CASE("the path of an offer belongs to a put alone and has no NUL") {
    Offer offer = some_offer();
    offer.path = "a\nb; 50%";
    CHECK(parse_offer(format_offer(offer))->path == offer.path);
    offer.path = std::string("a\0b", 3);
    CHECK_FALSE(parse_offer(format_offer(offer)).ok());
    offer.path = "";
    CHECK_FALSE(parse_offer(format_offer(offer)).ok());
    offer.terms.direction = Direction::get;
    CHECK(parse_offer(format_offer(offer)).ok());
    offer.path = "x";
    CHECK_FALSE(parse_offer(format_offer(offer)).ok());
    offer.terms.direction = Direction::put;
    offer.path = std::string(4097, 'x');
    CHECK_FALSE(parse_offer(format_offer(offer)).ok());
}

TEST_CASE("ports of an agreement are 1 to 64 numbers") {
    Agreement agreement;
    agreement.token = std::string(32, '0');
    agreement.ports = {1};
    const std::string good = format_agreement(agreement);
    REQUIRE(parse_agreement(good).ok());
    for (const std::string ports : {"", ",", "1,", ",1", "0", "65536", "1,,2", "1;2"}) {
        CAPTURE(ports);
        CHECK_FALSE(parse_agreement(replaced(good, "ports=1", "ports=" + ports)).ok());
    }
    std::string many = "ports=1";
    for (int i = 0; i < 64; ++i) many += ",2";
    CHECK_FALSE(parse_agreement(replaced(good, "ports=1", many)).ok());
}

TEST_CASE("an agreement to fewer blocks than a ring needs is refused") {
    Agreement agreement;
    agreement.token = std::string(32, '0');
    agreement.ports = {1};
    agreement.terms.block = 16 * MiB;
    agreement.terms.memory = kMinRingBlocks * 16 * MiB;
    CHECK(parse_agreement(format_agreement(agreement)).ok());
    for (const std::uint64_t memory : {kMinMemory, kMinRingBlocks * 16 * MiB - 1}) {
        agreement.terms.memory = memory;
        const auto parsed = parse_agreement(format_agreement(agreement));
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().message.find("'memory'") != std::string::npos);
    }
}

TEST_CASE("the lesser of both is agreed") {
    Terms offered;
    offered.stripes = 32;
    offered.memory = 64 * MiB;
    offered.block = 16 * MiB;
    offered.initial_rate = BitRate{5e9};
    Limits limits;
    limits.laws = {"sabul", "fixed"};
    limits.stripes = 8;
    limits.memory = 20 * MiB;
    limits.highest_rate = BitRate{1e9};
    const Result<Terms> agreed = agree(offered, limits);
    REQUIRE(agreed.ok());
    CHECK(agreed->stripes == 8);
    CHECK(agreed->memory == 20 * MiB);
    CHECK(agreed->block == 5 * MiB);
    CHECK(agreed->highest_rate == BitRate{1e9});
    CHECK(agreed->initial_rate == BitRate{1e9});

    offered.highest_rate = BitRate{5e8};
    limits.stripes = 64;
    CHECK(agree(offered, limits)->highest_rate == BitRate{5e8});
    CHECK(agree(offered, limits)->stripes == 32);
}

TEST_CASE("a law may have parameters, whose values keep their case") {
    Offer offer = some_offer();
    offer.terms.congestion = "mimd:preset=pr1,T=400ms,interface=10Gbit/s,k1=1e+3";
    const Result<Offer> parsed = parse_offer(format_offer(offer));
    REQUIRE(parsed.ok());
    CHECK(parsed->terms.congestion == offer.terms.congestion);
    Limits limits;
    limits.laws = {"sabul", "mimd"};
    CHECK(agree(parsed->terms, limits)->congestion == offer.terms.congestion);
    offer.terms.congestion = "MIMD:T=1s";
    CHECK(parse_offer(format_offer(offer))->terms.congestion == "mimd:T=1s");
}

TEST_CASE("an unknown law is refused with those there are") {
    Terms offered;
    offered.congestion = "warp";
    Limits limits;
    limits.laws = {"sabul", "fixed"};
    const Result<Terms> agreed = agree(offered, limits);
    REQUIRE_FALSE(agreed.ok());
    CHECK(agreed.error().fault == Fault::unsupported);
    CHECK(agreed.error().sentence().find("sabul, fixed") != std::string::npos);
}

TEST_CASE("a protection that is not allowed is refused") {
    Terms offered;
    Limits limits;
    limits.laws = {"sabul"};
    limits.allow_clear = false;
    CHECK(agree(offered, limits).ok());
    offered.protection = Protection::clear;
    CHECK(agree(offered, limits).error().fault == Fault::unsupported);
}

}  // namespace lambda::session
