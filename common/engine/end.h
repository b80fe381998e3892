// One end of a transfer as its thread sees it: a turn does all there is to do and says when the
// next is due. The two kinds are SendSide and ReceiveSide. One thread.
#pragma once

#include "common/base/time.h"
#include "common/base/units.h"
#include "common/engine/outcome.h"

namespace lambda::engine {

// Records that are taken in a turn: each may cost a hostile peer's victim some ms, and what is to
// end the transfer is looked at between turns.
constexpr int kRecordsPerTurn = 256;

class End {
  public:
    virtual ~End() = default;
    // Returns when to come again; earlier is always right.
    virtual Time turn(Time now) = 0;
    virtual bool done() const = 0;
    // The other end says by the control session that nothing is left to do. Who has still to tell
    // it so need not.
    virtual void peer_ended() {}
    // Each end waits for the other within microseconds, again and again: they are near, and what is
    // between them holds little.
    virtual bool tight() const = 0;
    // Of a sender's rate from the next turn on; 0: what the law allows.
    virtual void set_limit(BitRate) {}
    // Ends the transfer as it stands.
    virtual void cut(const Error& why) = 0;
    virtual Progress progress() const = 0;
    // Final once done().
    virtual const Outcome& outcome() = 0;
};

// Of a peer that wants more than it was granted.
inline Error beyond_grant(const char* message) {
    return Error{
        .fault = Fault::session, .message = message, .path = {}, .side = Side::local, .remedy = {}};
}

}  // namespace lambda::engine
