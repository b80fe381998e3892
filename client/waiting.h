// The user's interruptions, and waiting that they end.
#pragma once

#include "common/dialling/waiting.h"

namespace lambda::client {

using dialling::interruption_error;
using dialling::minute_of_day;
using dialling::now;
using dialling::poll_until;
using dialling::Wait;

// From now on the first SIGINT, SIGTERM or SIGHUP is remembered and ends every wait; one that
// comes two seconds later or more kills as if nothing had been caught. Once, before other threads
// start.
void catch_interruptions();
// What ends the waits of the calling thread from now on, in place of the user: for threads that do
// another's work, who forwards what the user wants.
void adopt_interruption(dialling::Interruption interruption);
// The user's, or what the thread adopted, for who waits.
dialling::Interruption interruption();
inline bool interrupted() {
    return interruption().raised();
}
inline Wait wait_for(int fd, short events, Time deadline) {
    return dialling::wait_for(fd, events, deadline, interruption());
}

}  // namespace lambda::client
