// What stands at a server as lines: for people as `ls -l` has them, for programs as objects
// (README.md, docs/protocol.md §1).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/report/report.h"
#include "common/session/entry.h"

namespace lambda::client {

// The entry under the name `shown`. In the line for people no name breaks a line or moves a
// cursor: it is printable(), also where standard output is a pipe. What the server could not look
// at has no size, time and mode.
void show_entry(const session::Entry& entry, const std::string& shown, Report& report);

// Shows entries by their names, byte for byte. Of more than `most`, or of names of more than
// kMostNameBytes, it shows all, those behind the first so many in the order in which they came.
class EntriesByName {
  public:
    static constexpr std::size_t kMostSorted = 1u << 18;
    static constexpr std::size_t kMostNameBytes = 64u << 20;
    using Show = std::function<void(const session::Entry&)>;

    explicit EntriesByName(Show show, std::size_t most = kMostSorted)
        : show_(std::move(show)), most_(most) {}
    void take(session::Entry entry);
    void end();
    bool sorted() const { return !full_; }      // all of them
    std::size_t kept() const { return kept_; }  // so many of the first, if not

  private:
    const Show show_;
    const std::size_t most_;
    std::vector<session::Entry> entries_;
    std::size_t name_bytes_ = 0, kept_ = 0;
    bool full_ = false;  // it keeps no more
};

}  // namespace lambda::client
