// Whether somebody writes a partial file: its lock says so, and where its file system has no locks
// the time for which it has been as it is. Blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lambda::io {

enum class PartialLock {
    held,     // by this open file
    another,  // somebody writes it
    none,     // its file system has no locks (Lustre without -o flock, NFSv3 without lockd)
    failed,   // errno
};
// `path`: for the warning, which comes once, that there are none.
PartialLock lock_partial(int file, const std::string& path);

// Where there are no locks: whether nobody has written it for two minutes. Its writer may live
// still, so another one is made in its place, and never its content gone on with.
bool left_alone(int directory, int file);

// Now, by the clock that the file system of this directory takes a file's times from, which may be
// another machine's. Nothing: no file can be made there.
std::optional<std::int64_t> time_there(int directory);

}  // namespace lambda::io
