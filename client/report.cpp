#include "client/report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "client/verdict_json.h"
#include "client/waiting.h"
#include "common/base/units.h"

namespace lambda::client {
namespace {

double gbit_per_s(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? 8 * static_cast<double>(bytes) / seconds / 1e9 : 0;
}

std::string stripes_json(const std::vector<mover::StripeOutcome>& stripes) {
    std::string list;
    for (const mover::StripeOutcome& stripe : stripes) {
        if (!list.empty()) list += ',';
        list += JsonObject()
                    .number("bytes", stripe.bytes)
                    .number("packets", stripe.packets)
                    .number("lost", stripe.lost)
                    .number("rtt_ms", stripe.rtt_ms)
                    .line();
    }
    return "[" + list + "]";
}

// Of a copy between two servers that was cut, nobody told.
bool measured(const mover::Outcome& outcome) {
    return !outcome.evidence.law.empty();
}

std::size_t terminal_width() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

}  // namespace

Report::Report(Style style, Time started)
    : style_(std::move(style)),
      started_(started),
      terminal_(!style_.progressed && ::isatty(STDERR_FILENO) == 1) {}

void Report::error(const Error& error) {
    say(error.sentence());
    exit_code_.add(error.fault);
    record_error(error, to_string(error.side));
}

void Report::unreached(const Error& error) {
    say(error.sentence());
    exit_code_.add_unreached(error.fault);
    record_error(error, to_string(error.side));
}

void Report::error_at(const std::string& side, const Error& error) {
    say_at(side, error);
    exit_code_.add(error.fault);
}

void Report::unreached_at(const std::string& side, const Error& error) {
    say_at(side, error);
    exit_code_.add_unreached(error.fault);
}

void Report::say_at(const std::string& side, const Error& error) {
    Error bare = error;
    bare.path.clear();
    const std::string where = error.path.empty() ? "the " + side + " server: "
                                                 : error.path + " (on the " + side + " server): ";
    say(where + bare.sentence());
    record_error(error, side);
}

void Report::record_error(const Error& error, const std::string& side) {
    if (!style_.json) return;
    const std::string message =
        error.remedy.empty() ? error.message : error.message + "; " + error.remedy;
    std::puts(JsonObject()
                  .text("event", "error")
                  .text("path", error.path)
                  .text("side", side)
                  .text("code", to_string(error.fault))
                  .text("message", message)
                  .line()
                  .c_str());
}

void Report::note(const std::string& text) {
    if (!style_.quiet) say(text);
}

void Report::say(const std::string& text) {
    print("lambda-ftp: " + text);
}

void Report::data(const JsonObject& object, const std::string& text) {
    std::puts(style_.json ? object.line().c_str() : text.c_str());
}

void Report::change(const std::string& word, const std::string& name, bool directory) {
    if (style_.quiet && !style_.json) return;
    live("");
    data(JsonObject().text("event", "change").text("change", word).text("path", name),
         printable(word + " " + name + (directory ? "/" : "")));
}

void Report::event(const JsonObject& object) {
    if (style_.json) std::puts(object.line().c_str());
}

void Report::live(const std::string& text) {
    if (!terminal_) return;
    const std::string shown = printable(text).substr(0, terminal_width() - 1);
    std::fprintf(stderr, "\r%s\033[K", shown.c_str());
    std::fflush(stderr);
    live_ = !shown.empty();
}

int Report::finish() {
    // Of a copy that was followed from its middle on, what nobody here saw counts too.
    const double run_seconds =
        std::max(seconds(now() - started_), outcome_ ? outcome_->transfer_seconds : 0);
    if (outcome_ && outcome_->leaves_again > 0) {
        say(std::to_string(outcome_->leaves_again) +
            " blocks of 1 MiB came, or were read back from the disk, with another digest than the "
            "sender took, and moved again: test the memory of both machines, and the receiver's "
            "disk");
    }
    if (outcome_ && !style_.quiet) {
        const mover::Outcome& o = *outcome_;
        char time[160];
        std::snprintf(time, sizeof time, " in %.2f s", run_seconds);
        char rates[160] = "";
        if (o.bytes > 0) {
            std::snprintf(rates, sizeof rates, ": %.3f Gbit/s, the transfer alone %.3f Gbit/s",
                          gbit_per_s(o.bytes, run_seconds),
                          gbit_per_s(o.bytes, o.transfer_seconds));
        }
        print(std::to_string(o.files) + (o.files == 1 ? " file, " : " files, ") +
              format_size(o.bytes) + time + rates + "; " + std::to_string(o.verified) +
              " verified" +
              (o.sent_packets > 0 ? ", " + std::to_string(o.lost_packets) + " of " +
                                        std::to_string(o.sent_packets) + " packets lost"
                                  : std::string()));
        if (o.bytes_kept > 0) {
            print("went on where it was cut: " + format_size(o.bytes_kept) +
                  " were there already and did not move again");
        }
        if (o.adopted + o.deleted > 0) {
            print(std::to_string(o.adopted) + " stood there already, " +
                  format_size(o.adopted_bytes) + "; " + std::to_string(o.mended) +
                  " of them got other attributes; " + std::to_string(o.deleted) + " deleted");
        }
    }
    if (outcome_ && style_.verbose && measured(*outcome_)) {
        print(verdict::judge(outcome_->evidence).sentence());
    }
    if (style_.json) std::puts(summary(run_seconds).c_str());
    if (std::fflush(stdout) != 0) {
        // Of a reader who has seen enough nobody needs to be told.
        if (errno == EPIPE) {
            exit_code_.add(Fault::file);
        } else {
            error(errno_error(Fault::file, "cannot write to stdout", {}, errno));
        }
    }
    return exit_code_.value();
}

void Report::print(const std::string& line) {
    if (live_) std::fputs("\r\033[K", stderr);
    live_ = false;
    std::fprintf(stderr, "%s\n", printable(line).c_str());
}

std::string Report::summary(double run_seconds) const {
    const mover::Outcome o = outcome_.value_or(mover::Outcome{});
    return JsonObject()
        .text("event", "summary")
        .number("files", o.files)
        .number("links", o.links)
        .number("directories", o.directories)
        .number("skipped", o.skipped)
        .number("bytes", o.bytes)
        .number("seconds", run_seconds)
        .number("gbit_per_s", gbit_per_s(o.bytes, run_seconds))
        .number("transfer_seconds", o.transfer_seconds)
        .number("transfer_gbit_per_s", gbit_per_s(o.bytes, o.transfer_seconds))
        .number("sent_packets", o.sent_packets)
        .number("lost_packets", o.lost_packets)
        .number("retransmitted_packets", o.retransmitted_packets)
        .number("refused_packets", o.refused_packets)
        .number("leaves_again", o.leaves_again)
        .number("bytes_kept", o.bytes_kept)
        .number("adopted", o.adopted)
        .number("adopted_bytes", o.adopted_bytes)
        .number("mended", o.mended)
        .number("deleted", o.deleted)
        .raw("stripes", stripes_json(o.stripes))
        .number("verified", o.verified)
        .raw("verdict", !outcome_ || measured(o) ? verdict_json(o.evidence) : "null")
        .raw("left_over", left_over_ ? json_string(*left_over_) : "null")
        .line();
}

}  // namespace lambda::client
