// What a program of ours asks of its process, and of single threads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "common/base/result.h"

namespace lambda::io {

// Before anything is opened, and the first thread: standard streams that are closed are opened on
// /dev/null. Ignores SIGPIPE (tls.h), and SIGCHLD no more where whoever started us did; raises the
// soft limit of open files to the hard one: each file that is being received takes four
// descriptors, and hundreds may be in hand.
void prepare_process();

// The soft limit.
std::size_t files_to_open();

// From now on the last `count` of these (half of all at most) are spare: not for what
// transfers receive, so that a server that is short of them takes connections, logs in and answers.
void keep_files_spare(std::size_t count);
// Whether this descriptor, opened just now, is one of them: the kernel gives the lowest number that
// is free.
bool is_spare(int opened);
// Whether the next one is, or there is none.
bool files_are_short();
// EMFILE, ENFILE.
bool is_want_of_files(const Error& error);

// The calling thread runs soon after it is due, where others want its processor: the scheduler
// gives it the same share in shorter slices, and lets a thread of shorter slices go first. For one
// that paces packets or acknowledges them, and sleeps between. It takes no right, but Linux 6.12;
// before that, and in a thread that somebody gave another policy, nothing changes. Threads that it
// starts have slices as usual.
void take_short_slices();

// That the calling thread may run on.
unsigned usable_processors();

// The calling thread is one whose work others could do: it has the least share of a processor that
// there is, in short slices, so that it gets what little it needs soon, and stops nobody when it
// wakes (SCHED_BATCH). Before Linux 6.12, where slices are all alike, its share stays what it was:
// a small one would come late. Takes no right; one that somebody gave another policy keeps that.
void stand_back();

// Of want of memory, which may pass (Fault::cut): "WHAT: Cannot allocate memory".
Error no_memory(std::string what);

// A thread that takes no signals. An error (Fault::cut: later it may do) where the machine allows
// no more of them.
Result<std::thread> start_thread(std::function<void()> run);
// Whether so many may run beside those that do: of a library that waits for ever where it gets but
// some of its threads.
Result<void> try_threads(unsigned count);

}  // namespace lambda::io
