#include "client/receipt/signer.h"

#include "client/receipt/replica.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {
const std::string kOne = "SHA256:" + std::string(43, 'a');
const std::string kTwo = "SHA256:" + std::string(43, 'b');
const Server kServer{"", "host", 2811};
}  // namespace

TEST_CASE("a receipt is signed by the key that is known, or by the one that was named") {
    const Scratch scratch;
    const KnownHosts hosts(scratch / "known_hosts");
    const auto signer = [&](const std::string& key, const std::string& wanted) {
        return signer_of(key, kServer, hosts, wanted);
    };
    CHECK(signer(kOne, {}).value() == Signer::unknown);
    CHECK(signer(kOne, kOne).value() == Signer::given);
    CHECK(signer(kOne, kTwo).error().fault == Fault::integrity);
    REQUIRE(hosts.add(kServer, kOne).ok());
    CHECK(signer(kOne, {}).value() == Signer::known);
    const auto forged = signer(kTwo, {});
    REQUIRE_FALSE(forged.ok());
    CHECK(forged.error().fault == Fault::integrity);
    CHECK(forged.error().message.find(kTwo) != std::string::npos);
    CHECK(signer(kTwo, kTwo).value() == Signer::given);  // the server's old key
}

TEST_CASE("a damaged entry of the server does not make its key unknown") {
    const Scratch scratch;
    const KnownHosts hosts(scratch.write("known_hosts", "[host]:2811 garbage\n"));
    CHECK(signer_of(kOne, kServer, hosts, {}).error().fault == Fault::session);
}

TEST_CASE("the key that a server shows is the one that signed") {
    CHECK(check_shown(kOne, kServer, kOne).ok());
    CHECK(check_shown(kOne, kServer, kTwo).error().fault == Fault::integrity);
    CHECK(check_shown(kOne, kServer, {}).error().fault == Fault::integrity);
}

TEST_CASE("in a directory that the user named a single file has its name") {
    const Replica file{.target = {.path = "/r", .into_directory = false}};
    CHECK(file.path_of("a") == "/r");
    CHECK(file.path_of("t/a") == "/r/a");
    const Replica directory{.target = {.path = "/r/", .into_directory = false},
                            .is_directory = true};
    CHECK(directory.path_of("a") == "/r/a");
    CHECK(directory.path_of("t/a") == "/r/a");
    const Replica into{.target = {.path = "/r", .into_directory = true}, .is_directory = true};
    CHECK(into.path_of("a") == "/r/a");
    CHECK(into.path_of("t/a") == "/r/t/a");
}
