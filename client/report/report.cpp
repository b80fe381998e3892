#include "client/report/report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "client/report/verdict_json.h"
#include "client/waiting.h"
#include "common/base/utf8.h"

namespace lambda::client {
namespace {

std::size_t terminal_width() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

// That knows no way back to the beginning of a line.
bool is_dumb() {
    const char* const terminal = std::getenv("TERM");
    return terminal != nullptr && std::string_view(terminal) == "dumb";
}

// No letter is cut; each counts as one column.
std::string first_letters(const std::string& text, std::size_t most) {
    std::size_t end = 0;
    for (std::size_t letters = 0; letters < most && end < text.size(); ++letters)
        end += std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(end)));
    return text.substr(0, end);
}

}  // namespace

Report::Report(Style style, Time started)
    : style_(std::move(style)),
      started_(started),
      terminal_(!style_.progressed && ::isatty(STDERR_FILENO) == 1 && !is_dumb()) {}

void Report::error(const Error& error) {
    say(error.sentence());
    exit_code_.add(error.fault);
    record_error(error, to_string(error.side));
}

void Report::error(const FailureLine& line) {
    if (!line.below_another) say(line.error.sentence() + line.for_those_below());
    exit_code_.add(line.error.fault);
    record_error(line.error, to_string(line.error.side));
}

void Report::unreached(const Error& error) {
    say(error.sentence());
    exit_code_.add_unreached(error.fault);
    record_error(error, to_string(error.side));
}

void Report::error_here(const Error& error) {
    say(error.sentence());
    exit_code_.add_here(error.fault);
    record_error(error, to_string(error.side));
}

void Report::error_at(const std::string& side, const Error& error) {
    say_at(side, error);
    record_error(error, side);
    exit_code_.add(error.fault);
}

void Report::error_at(const std::string& side, const FailureLine& line) {
    if (!line.below_another) say_at(side, line.error, line.for_those_below());
    record_error(line.error, side);
    exit_code_.add(line.error.fault);
}

void Report::unreached_at(const std::string& side, const Error& error) {
    say_at(side, error);
    record_error(error, side);
    exit_code_.add_unreached(error.fault);
}

void Report::say_at(const std::string& side, const Error& error, const std::string& more) {
    say(sentence_at(side, error) + more);
}

void Report::record_error(const Error& error, const std::string& side) {
    if (!style_.json) return;
    const std::string message =
        error.remedy.empty() ? error.message : error.message + "; " + error.remedy;
    put(JsonObject()
            .text("event", "error")
            .text("path", error.path)
            .text("side", side)
            .text("code", to_string(error.fault))
            .text("message", message)
            .line());
}

void Report::note(const std::string& text) {
    if (!style_.quiet) say(text);
}

void Report::say(const std::string& text) {
    print("lambda-ftp: " + text);
}

void Report::unowned(std::uint64_t count) {
    if (count == 0) return;
    say(std::to_string(count) +
        " did not get their owner, set-user-ID bits or an extended attribute, since the receiver "
        "may not give them");
}

void Report::data(const JsonObject& object, const std::string& text) {
    put(style_.json ? object.line() : text);
}

void Report::change(const std::string& word, const std::string& name, bool directory,
                    std::uint64_t size) {
    changes_.add(word, name, size);
    if (style_.quiet && !style_.json) return;
    live("");
    data(JsonObject()
             .text("event", "change")
             .text("change", word)
             .text("path", name)
             .raw("directory", directory ? "true" : "false"),
         printable(word + " " + name + (directory ? "/" : "")));
}

void Report::event(const JsonObject& object) {
    if (style_.json) put(object.line());
}

void Report::live(const std::string& text) {
    if (!terminal_ || (text.empty() && !live_)) return;
    flush();
    const std::string shown = first_letters(printable(text), terminal_width() - 1);
    std::fprintf(stderr, "\r%s\033[K", shown.c_str());
    std::fflush(stderr);
    live_ = !shown.empty();
}

int Report::finish() {
    if (outcome_) changes_.take_off(outcome_->failures);
    // Of a copy that was followed from its middle on, what nobody here saw counts too.
    const Summary summary{
        .outcome = outcome_.value_or(mover::Outcome{}),
        .changes = changes_,
        .dry_run = style_.dry_run,
        .seconds = std::max(seconds(now() - started_), outcome_ ? outcome_->transfer_seconds : 0),
        .left_over = left_over_};
    if (outcome_ && outcome_->leaves_changed > 0) {
        say(std::to_string(outcome_->leaves_changed) +
            " blocks of 1 MiB were written to at the source while they were sent, and moved again");
    }
    if (outcome_ && outcome_->leaves_again > outcome_->leaves_changed) {
        say(std::to_string(outcome_->leaves_again - outcome_->leaves_changed) +
            " blocks of 1 MiB came, or were read back from the disk, with another digest than the "
            "sender took, and moved again: " +
            (outcome_->bytes_kept > 0 ? "the source was written to since an earlier run and has "
                                        "its old time, or else "
                                      : "") +
            "test the memory of both machines and the receiver's "
            "disk, and where it went in clear the path");
    }
    if (outcome_) print_end(summary);
    if (style_.json && summary_) {
        put(summary_->line());
    } else if (style_.json) {
        const bool judged = outcome_ && summary.measured();
        put(summary_json(summary, judged ? verdict_json(summary.outcome.evidence) : "null"));
    }
    flush();
    return exit_code_.value();
}

// A line that does not fit into what is buffered is written now.
void Report::put(const std::string& line) {
    if (const int failed = stdout_.put(line); failed != 0) fail_stdout(failed);
}

// stdout, before each word on stderr: where both go into one file, lines stay whole and in their
// order.
void Report::flush() {
    if (const int failed = stdout_.flush(); failed != 0) fail_stdout(failed);
}

// Told once; of a reader who has seen enough nobody needs to be told.
void Report::fail_stdout(int error_number) {
    if (std::exchange(stdout_failed_, true)) return;
    if (error_number == EPIPE) {
        exit_code_.add(Fault::file);
    } else if (error_number == EINTR) {
        exit_code_.add(Fault::cut);
        print("nobody reads stdout: what it had not taken is lost");
    } else {
        error(errno_error(Fault::file, "cannot write to stdout", {}, error_number));
    }
}

void Report::print(const std::string& line) {
    flush();
    if (live_) std::fputs("\r\033[K", stderr);
    live_ = false;
    std::fprintf(stderr, "%s\n", printable(line).c_str());
}

// In one piece, so that nothing that another thread says comes between.
void Report::print_end(const Summary& summary) {
    std::string block;
    if (!style_.quiet) {
        for (const std::string& line : summary_lines(summary)) block += printable(line) + "\n";
    }
    if (style_.verbose && summary.measured())
        block += printable(verdict::judge(summary.outcome.evidence).sentence()) + "\n";
    live("");
    flush();
    std::fputs(block.c_str(), stderr);
}

}  // namespace lambda::client
