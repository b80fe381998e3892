// What loads have in common, whoever carries them. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/replicate/carrier.h"

namespace lambda::client::replicate {

// Of an entry below a destination; "." for what lies there itself.
std::string directory_of(const std::string& name);

// The names of the links that are `wanted` among the tasks from `next` on, as many as the patterns
// of one transfer take beside the job's own; `next` moves on.
std::vector<std::string> some_links(const std::vector<Task>& tasks, std::size_t& next,
                                    const std::function<bool(const Task&)>& wanted);

// The names of a load's tasks, by what the outcome of its transfer calls them.
using TaskNames = std::map<std::string, std::string>;
// By their whole names, or by the last part alone of what is told.
enum class Told { whole, last_part };
// What the outcome tells by name, it calls as the tasks are called then.
void name_tasks(mover::Outcome& outcome, const TaskNames& names, Told by);
// Of names below directories an outcome tells failures alone. What was done is the rest, where each
// failure was told, of a task, and nothing but files was moved.
void rest_is_done(mover::Outcome& outcome, const TaskNames& names);

// The sum of two transfers of different files.
void add(mover::Outcome& sum, const mover::Outcome& next);

}  // namespace lambda::client::replicate
