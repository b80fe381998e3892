// The commands that a session has in hand: answered in order, but those that are answered at once
// while something runs (docs/protocol.md §1). Pure; bounded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

#include "common/session/command.h"
#include "common/session/line.h"

namespace lambda::server {

constexpr std::size_t kMaxInHand = 64;

class CommandQueue {
  public:
    bool full() const { return lines_.size() >= kMaxInHand; }
    bool empty() const { return lines_.empty(); }
    void push(session::Line line) { lines_.push_back(std::move(line)); }

    // The next to answer. Where `running`, only those that need not wait.
    std::optional<session::Line> next(bool running) {
        for (auto line = lines_.begin(); line != lines_.end(); ++line) {
            if (running && !at_once(*line)) continue;
            std::optional<session::Line> taken(std::move(*line));
            lines_.erase(line);
            return taken;
        }
        return std::nullopt;
    }

    // For when the connection is gone and nothing is answered any more.
    bool says_quit() const {
        return std::any_of(lines_.begin(), lines_.end(), [](const session::Line& line) {
            const Result<session::Command> command = session::parse_command(line.text);
            return line.fault == session::LineFault::none && command && command->verb == "QUIT";
        });
    }

  private:
    static bool at_once(const session::Line& line) {
        const Result<session::Command> command = session::parse_command(line.text);
        if (line.fault != session::LineFault::none || !command) return false;
        return command->verb == "ABOR" || command->verb == "NOOP" || command->verb == "STAT" ||
               command->verb == "QUIT" || command->verb == "RATE" || command->verb == "SIGN";
    }

    std::deque<session::Line> lines_;
};

}  // namespace lambda::server
