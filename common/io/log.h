// The log: one line a message on stderr. Under systemd (JOURNAL_STREAM is stderr) a line starts
// with its priority as `<N>` and has no time of its own (sd-daemon(3)); else with time and level.
// Control bytes in a message are written as \xNN, so that a file's name cannot forge a line.
// Where nobody reads stderr, lines are lost, which is said when somebody does again; a thread that
// logs waits for 0.1 s at most. Thread-safe. Before open_log(), warnings and errors go out.
#pragma once

#include <string_view>

#include "common/base/result.h"

namespace lambda::io {

enum class LogLevel { debug, info, warning, error, off };

// "debug", "info", "warning", "error", "off".
Result<LogLevel> parse_log_level(std::string_view name);

// Once, before the first thread; again to change the level (any thread).
void open_log(LogLevel level);

// One atomic load: ask before building a text that is costly.
bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view text);

inline void log_debug(std::string_view text) {
    log(LogLevel::debug, text);
}
inline void log_info(std::string_view text) {
    log(LogLevel::info, text);
}
inline void log_warning(std::string_view text) {
    log(LogLevel::warning, text);
}
inline void log_error(std::string_view text) {
    log(LogLevel::error, text);
}

}  // namespace lambda::io
