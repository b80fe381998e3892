#include "common/io/log.h"

#include <poll.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/ascii.h"
#include "common/base/hex.h"
#include "common/base/utf8.h"

namespace lambda::io {
namespace {

constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warning", "error", "off"};
constexpr std::array<spdlog::level::level_enum, 5> kLevels{spdlog::level::debug,
                                                           spdlog::level::info, spdlog::level::warn,
                                                           spdlog::level::err, spdlog::level::off};

// sd-daemon(3): the priority of syslog(3) in angle brackets.
class JournalPriority final : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&,
                spdlog::memory_buf_t& out) override {
        const char priority = message.level >= spdlog::level::err    ? '3'
                              : message.level == spdlog::level::warn ? '4'
                              : message.level == spdlog::level::info ? '6'
                                                                     : '7';
        out.push_back('<');
        out.push_back(priority);
        out.push_back('>');
    }
    std::unique_ptr<custom_flag_formatter> clone() const override {
        return std::make_unique<JournalPriority>();
    }
};

// JOURNAL_STREAM is the device and inode of the stream to the journal (systemd.exec(5)); stderr may
// have been redirected since.
bool stderr_is_journal() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat status {};
    if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == stream;
}

// Nobody who logs waits for a reader that does not read: a server would stand still for all its
// users. What is lost by that is said once there is room.
class Stderr final : public spdlog::sinks::base_sink<std::mutex> {
  private:
    static constexpr int kPatienceMs = 100;  // for a reader that is slow; once, until he reads

    void sink_it_(const spdlog::details::log_msg& message) override {
        if (lost_ > 0 && takes(0)) {
            const std::string said = std::to_string(lost_) + " lines of this log were lost: " +
                                     (why_ == 0 ? "nobody read them" : std::strerror(why_));
            spdlog::details::log_msg loss = message;
            loss.level = spdlog::level::warn;
            loss.payload = said;
            if (put(loss)) lost_ = 0;
        }
        if (lost_ > 0 || !put(message)) ++lost_;
    }
    void flush_() override {}

    // A pipe that has room takes PIPE_BUF bytes at once (pipe(7)). False: not all of the line.
    bool put(const spdlog::details::log_msg& message) {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        for (std::size_t at = 0; at < line.size();) {
            why_ = 0;
            if (!takes(kPatienceMs)) return false;
            const ssize_t written = ::write(STDERR_FILENO, line.data() + at,
                                            std::min<std::size_t>(line.size() - at, PIPE_BUF));
            if (written < 0 && errno == EAGAIN) return false;
            if (written < 0 && errno != EINTR) why_ = errno;
            if (why_ != 0) return false;
            if (written > 0) at += static_cast<std::size_t>(written);
        }
        return true;
    }
    static bool takes(int milliseconds) {
        pollfd end{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
        return ::poll(&end, 1, milliseconds) > 0;
    }

    std::uint64_t lost_ = 0;
    int why_ = 0;  // the line before this was: errno; 0: it would have had to wait
};

std::shared_ptr<spdlog::logger> make_logger() {
    auto logger = std::make_shared<spdlog::logger>("lambda", std::make_shared<Stderr>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    if (stderr_is_journal()) {
        formatter->add_flag<JournalPriority>('*').set_pattern("%*%v");
    } else {
        formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
    }
    logger->set_formatter(std::move(formatter));
    logger->set_level(spdlog::level::warn);
    return logger;
}

spdlog::logger& logger() {
    // Never destroyed: threads may still log while the process ends.
    static auto& instance = *new std::shared_ptr<spdlog::logger>(make_logger());
    return *instance;
}

// Of terminals that take 8 bits (U+0080 to U+009F), or of the direction of the line (U+202A to
// U+202E, U+2066 to U+2069).
bool is_wide_control(std::string_view sequence) {
    return (sequence >= "\xc2\x80" && sequence <= "\xc2\x9f") ||
           (sequence >= "\xe2\x80\xaa" && sequence <= "\xe2\x80\xae") ||
           (sequence >= "\xe2\x81\xa6" && sequence <= "\xe2\x81\xa9");
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
        text.remove_prefix(sequence.size());
        if (sequence == "\\") {
            out += "\\\\";
        } else if (length > 0 && !is_control(sequence[0]) && !is_wide_control(sequence)) {
            out += sequence;
        } else {
            for (const char c : sequence) out += "\\x" + hex_of(c);
        }
    }
    return out;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) return static_cast<LogLevel>(i);
    }
    return Error{.fault = Fault::usage,
                 .message = "unknown log level \"" + std::string(name) + "\"",
                 .path = {},
                 .side = Side::local,
                 .remedy = "use debug, info, warning, error or off"};
}

void open_log(LogLevel level) {
    logger().set_level(kLevels[static_cast<std::size_t>(level)]);
}

bool log_enabled(LogLevel level) {
    return logger().should_log(kLevels[static_cast<std::size_t>(level)]);
}

void log(LogLevel level, std::string_view text) {
    if (log_enabled(level)) {
        logger().log(kLevels[static_cast<std::size_t>(level)], printable(text));
    }
}

}  // namespace lambda::io
