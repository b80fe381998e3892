#include "common/dialling/joins.h"

#include "common/dialling/dial.h"
#include "tests/support/catch.h"
#include "tests/support/loopback_port.h"

namespace lambda::dialling {

TEST_CASE("joins: what was dialled for a transfer ends with it") {
    const LoopbackPort silent(true);
    Joins joins({.peer = silent.address(), .host = "localhost"}, 1);
    unsigned failures = 0;
    joins.open(std::string(32, 'a'), 2,
               {.joined = {}, .failed = [&](const Error&) { ++failures; }});
    joins.begin(0, 1);  // takes the one made ahead
    joins.begin(1, 1);
    std::vector<pollfd> sockets;
    joins.add_to(sockets);
    CHECK(sockets.size() == 2);
    joins.close();
    sockets.clear();
    joins.add_to(sockets);
    CHECK(sockets.empty());
    CHECK(joins.deadline() == kNever);
    joins.advance();
    CHECK(failures == 0);
}

}  // namespace lambda::dialling
