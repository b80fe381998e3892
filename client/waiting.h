// Waiting for a descriptor or the user: every wait has a deadline, and ends when the user
// interrupts.
#pragma once

#include <poll.h>

#include <span>

#include "common/base/result.h"
#include "common/base/time.h"

namespace lambda::client {

// CLOCK_MONOTONIC.
Time now();

// From now on the first SIGINT, SIGTERM or SIGHUP is remembered and ends every wait; one that
// comes two seconds later or more kills as if nothing had been caught. Once, before other threads
// start.
void catch_interruptions();
bool interrupted();
// Readable once interrupted; for poll().
int interruption_fd();
Error interruption_error();

// poll() over `sockets` until one is ready, the deadline has passed or the user interrupts.
void poll_until(std::span<pollfd> sockets, Time deadline);

enum class Wait { ready, late, interrupted };
Wait wait_for(int fd, short events, Time deadline);

}  // namespace lambda::client
