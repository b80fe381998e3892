// What a run tells: data on stdout, everything else on stderr; with --json one object a line on
// stdout, of which the last is the summary. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "client/report/exit_code.h"
#include "client/report/failures.h"
#include "client/report/standard_output.h"
#include "client/report/summary.h"
#include "client/report/text.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/mover/mover.h"

namespace lambda::client {

class Report {
  public:
    struct Style {
        bool json = false;
        bool quiet = false;  // errors alone
        bool verbose = false;
        bool dry_run = false;  // nothing is done: the summary says what would be
        // Takes how far a transfer is, in place of the live line.
        std::function<void(const mover::Progress&)> progressed{};
    };
    // `started`: when the process began.
    Report(Style style, Time started);

    void session_stands() { exit_code_.session_stands(); }

    void error(const Error& error);
    // What is below another one counts, and is an object with --json, without words of its own.
    void error(const FailureLine& line);
    // Of one of several places, with which no session ever stood.
    void unreached(const Error& error);
    // Of work that needs no session.
    void error_here(const Error& error);
    // Of one of several servers: "PATH (on the SIDE server): MESSAGE; REMEDY".
    void error_at(const std::string& side, const Error& error);
    void error_at(const std::string& side, const FailureLine& line);
    // Likewise; no session ever stood between them.
    void unreached_at(const std::string& side, const Error& error);
    // Something a user should know, said once; not with --quiet.
    void note(const std::string& text);
    // Something a user must know.
    void say(const std::string& text);
    // So many arrived, but not with all that --archive keeps.
    void unowned(std::uint64_t count);
    // One object on stdout with --json, else the text on stdout.
    void data(const JsonObject& object, const std::string& text);
    // One object on stdout with --json, else nothing.
    void event(const JsonObject& object);
    // What stdout was given is written now, for who reads along.
    void flush();
    // The line on the terminal that is written over; nothing where stderr is no terminal.
    void live(const std::string& text);
    bool on_terminal() const { return terminal_; }
    bool quiet() const { return style_.quiet; }
    const Style& style() const { return style_; }

    // A line of what a sync does or would do; not with --quiet, unless as JSON.
    // `size`: of a file that moves for it, its bytes.
    void change(const std::string& word, const std::string& name, bool directory,
                std::uint64_t size);
    void moved(const mover::Outcome& outcome) { outcome_ = outcome; }
    void left_over(const std::string& file) { left_over_ = file; }

    // Of what went wrong up to now.
    int exit_code() const { return exit_code_.value(); }
    // With --json, the summary of a command that moves no files of the user's.
    void summary(JsonObject object) { summary_ = std::move(object); }
    // The summary. Returns the exit code.
    int finish();

  private:
    void print(const std::string& line);
    void say_at(const std::string& side, const Error& error, const std::string& more = {});
    void record_error(const Error& error, const std::string& side);
    void print_end(const Summary& summary);
    void put(const std::string& line);
    void fail_stdout(int error_number);

    Style style_;
    Time started_;
    bool terminal_;
    bool live_ = false;  // a live line stands on the terminal
    StandardOutput stdout_;
    bool stdout_failed_ = false;
    ExitCode exit_code_;
    std::optional<mover::Outcome> outcome_;
    ChangeCount changes_;
    std::optional<std::string> left_over_;
    std::optional<JsonObject> summary_;
};

}  // namespace lambda::client
