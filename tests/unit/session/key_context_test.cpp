#include "common/session/key_context.h"

#include "common/base/hex.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::session;

TEST_CASE("the keys' context is the transfer's number and both nonces, the client's first") {
    Agreement agreement;
    agreement.transfer = 0x0123456789abcdef;
    agreement.nonce.fill(std::byte{0x5e});
    Nonce client;
    client.fill(std::byte{0xc1});
    std::string words = "0123456789abcdef";
    for (int i = 0; i < 16; ++i) words += "c1";
    for (int i = 0; i < 16; ++i) words += "5e";
    CHECK(to_hex(key_context(agreement, client)) == words);
    CHECK(std::string(kExporterLabel) == "EXPORTER-lambda-ftp-1");
}
