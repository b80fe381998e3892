// The exit code of a run, from all that went wrong in it: 0 done, 1 files failed, 2 usage, 3 no
// session, 4 integrity, 5 cut after the session stood, or where none is needed. Where several
// hold: 4, 5, 3, 1. Pure.
#pragma once

#include <algorithm>
#include <array>

#include "common/base/result.h"

namespace lambda::client {

class ExitCode {
  public:
    // From now on a lost session is a cut one.
    void session_stands() { stands_ = true; }
    void add(Fault fault) { take(code_of(fault, stands_)); }
    // Of a place with which no session ever stood, whatever other places did.
    void add_unreached(Fault fault) { take(code_of(fault, false)); }
    // Of work that needs no session.
    void add_here(Fault fault) { take(code_of(fault, true)); }
    int value() const { return code_; }

  private:
    void take(int code) {
        if (rank(code) < rank(code_)) code_ = code;
    }
    static int code_of(Fault fault, bool stands) {
        switch (fault) {
            case Fault::usage:
                return 2;
            case Fault::file:
                return 1;
            case Fault::integrity:
                return 4;
            case Fault::session:
            case Fault::cut:
            case Fault::protocol:
                return stands ? 5 : 3;
            case Fault::unsupported:
                return stands ? 1 : 3;
        }
        LAMBDA_ASSERT(false);
    }
    // Usage comes last of the errors: nothing has run when it is found.
    static std::ptrdiff_t rank(int code) {
        constexpr std::array kOrder{4, 5, 3, 1, 2, 0};
        return std::find(kOrder.begin(), kOrder.end(), code) - kOrder.begin();
    }

    int code_ = 0;
    bool stands_ = false;
};

}  // namespace lambda::client
