#include "client/report/exit_code.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {
int code_of(std::initializer_list<Fault> faults, bool stands) {
    ExitCode code;
    if (stands) code.session_stands();
    for (const Fault fault : faults) code.add(fault);
    return code.value();
}
}  // namespace

TEST_CASE("one fault, one exit code") {
    CHECK(code_of({}, true) == 0);
    CHECK(code_of({Fault::file}, true) == 1);
    CHECK(code_of({Fault::usage}, false) == 2);
    CHECK(code_of({Fault::session}, false) == 3);
    CHECK(code_of({Fault::cut}, false) == 3);
    CHECK(code_of({Fault::protocol}, false) == 3);
    CHECK(code_of({Fault::integrity}, true) == 4);
    CHECK(code_of({Fault::cut}, true) == 5);
    CHECK(code_of({Fault::protocol}, true) == 5);
}

TEST_CASE("work that needs no session is cut without one") {
    ExitCode code;
    code.add_here(Fault::file);
    CHECK(code.value() == 1);
    code.add_here(Fault::cut);
    CHECK(code.value() == 5);
}

TEST_CASE("where several hold: 4, 5, 3, 1") {
    CHECK(code_of({Fault::file, Fault::cut, Fault::integrity}, true) == 4);
    CHECK(code_of({Fault::integrity, Fault::cut, Fault::file}, true) == 4);
    CHECK(code_of({Fault::file, Fault::cut}, true) == 5);
    CHECK(code_of({Fault::file, Fault::session}, false) == 3);
    CHECK(code_of({Fault::usage, Fault::file}, true) == 1);
}

TEST_CASE("a session that is lost before and one after it stood differ") {
    ExitCode code;
    code.add(Fault::session);
    CHECK(code.value() == 3);
    code.session_stands();
    code.add(Fault::cut);
    CHECK(code.value() == 5);
}

TEST_CASE("a place that was never reached is no cut, whatever others did") {
    ExitCode code;
    code.session_stands();
    code.add_unreached(Fault::session);
    CHECK(code.value() == 3);
    code.add(Fault::file);
    CHECK(code.value() == 3);
    code.add(Fault::cut);
    CHECK(code.value() == 5);
}
