// What a server may answer to an offer.
#include "common/dialling/agreement.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::dialling;

TEST_CASE("a server may lessen what was offered, and nothing else") {
    session::Terms offered;
    offered.highest_rate = BitRate{1e9 - 0.4};
    offered.window = 1'000'000;
    CHECK(check_agreement(offered, offered).ok());
    session::Terms agreed = offered;
    agreed.stripes = 1;
    agreed.block = agreed.payload = 1;
    agreed.memory = agreed.window = 1;
    agreed.initial_rate = agreed.highest_rate = BitRate{1};
    CHECK(check_agreement(offered, agreed).ok());
    agreed.highest_rate = BitRate{1e9};  // as it travels
    CHECK(check_agreement(offered, agreed).ok());

    const auto refused = [&](void (*change)(session::Terms&), const char* term) {
        session::Terms more = offered;
        change(more);
        const auto checked = check_agreement(offered, more);
        INFO(term);
        REQUIRE_FALSE(checked.ok());
        CHECK(checked.error().fault == Fault::protocol);
        CHECK(checked.error().message.ends_with(std::string(": ") + term));
    };
    refused([](auto& t) { t.stripes = 5; }, "stripes");
    refused([](auto& t) { t.block *= 2; }, "block");
    refused([](auto& t) { t.memory *= 2; }, "memory");
    refused([](auto& t) { t.congestion = "fixed"; }, "congestion");
    refused([](auto& t) { t.initial_rate = BitRate{2e9}; }, "initial");
    refused([](auto& t) { t.highest_rate = BitRate{2e9}; }, "highest");
    refused([](auto& t) { t.highest_rate = BitRate{0}; }, "highest");
    refused([](auto& t) { t.window = 1'000'001; }, "window");
    refused([](auto& t) { t.window = 0; }, "window");
    refused([](auto& t) { t.syn *= 2; }, "syn");
    refused([](auto& t) { t.syn /= 2; }, "syn");
    refused([](auto& t) { t.known_rate = BitRate{1e12}; }, "known");
    refused([](auto& t) { t.read_back = true; }, "verify");
    refused([](auto& t) { t.receipt = true; }, "receipt");
    refused([](auto& t) { t.sha256 = true; }, "digest");
    offered.highest_rate = BitRate{0};
    offered.window = 0;
    agreed = offered;
    agreed.highest_rate = BitRate{1e9};
    agreed.window = 1;
    CHECK(check_agreement(offered, agreed).ok());
}

TEST_CASE("a refusal passes only where the server says that it may") {
    for (const int code : {425, 450}) CHECK(fault_of_refusal(code) == Fault::cut);
    for (const int code : {500, 502}) CHECK(fault_of_refusal(code) == Fault::unsupported);
    for (const int code : {550, 553}) CHECK(fault_of_refusal(code) == Fault::file);
    for (const int code : {501, 504}) CHECK(fault_of_refusal(code) == Fault::usage);
    CHECK(fault_of_refusal(530) == Fault::session);
}
