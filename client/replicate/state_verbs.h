// The commands of a job that look at its state, or ask something of the run under way, from any
// terminal that reaches the state; and how all its commands tell what they found. Blocking; they
// end early when the thread is interrupted.
#pragma once

#include <string>

#include "client/replicate/job.h"
#include "client/replicate/store.h"
#include "client/replicate/words.h"
#include "client/report/report.h"

namespace lambda::client::replicate {

// What servers said may be among the words.
void show(const Words& words, Report& report);
// On stdout as JSON, else among the notes.
void tell(const Words& words, Report& report);

Result<JobStatus> status_of(Store& store);
// A name that no other process has, of who holds what in a store.
std::string fresh_owner();

Result<void> status(const Job& job, Store& store, Report& report);
// Until the run under way has ended.
Result<void> watch(const Job& job, Store& store, Report& report);
Result<void> cancel(Store& store, Report& report);
// `pause`, or none, of the run under way, or of the next one: a pause that nobody hears would stand
// unseen.
Result<void> ask(const Job& job, Store& store, Request request, Report& report);
Result<void> history(const Job& job, Store& store, Report& report);

}  // namespace lambda::client::replicate
