#include "client/remote/terminal.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "client/report/text.h"
#include "client/waiting.h"
#include "common/io/file/root.h"

namespace lambda::client {
namespace {

constexpr std::size_t kLineLimit = 1024;

Error no_terminal(const std::string& what, const std::string& remedy) {
    return Error{.fault = Fault::session,
                 .message = "there is no terminal to ask on for " + what,
                 .path = {},
                 .side = Side::local,
                 .remedy = remedy};
}

// Switches the terminal's echo off for as long as it lives.
class Silence {
  public:
    explicit Silence(int fd) : fd_(fd) {
        if (::tcgetattr(fd_, &before_) != 0) return;
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        silent.c_lflag |= ECHONL;
        set_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
    }
    ~Silence() {
        if (set_) ::tcsetattr(fd_, TCSAFLUSH, &before_);
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

  private:
    int fd_;
    termios before_{};
    bool set_ = false;
};

// A line; empty also where the user ends the input in its place.
Result<std::string> ask(int terminal, const std::string& prompt) {
    const std::string shown = printable(prompt);
    [[maybe_unused]] const ssize_t written = ::write(terminal, shown.data(), shown.size());
    std::string line;
    while (line.size() < kLineLimit) {
        if (wait_for(terminal, POLLIN, kNever) == Wait::interrupted) {
            [[maybe_unused]] const ssize_t ended = ::write(terminal, "\n", 1);
            return interruption_error();
        }
        char c = 0;
        const ssize_t got = ::read(terminal, &c, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || c == '\n') break;
        line += c;
    }
    return line;
}

io::Descriptor open_terminal() {
    return io::Descriptor(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
}

}  // namespace

Result<bool> ask_yes(const std::string& question) {
    const io::Descriptor terminal = open_terminal();
    if (!terminal)
        return no_terminal("leave to trust the server",
                           "--trust-new-host trusts a new server unasked");
    auto answer = ask(terminal.get(), question);
    if (!answer) return answer.error();
    return *answer == "yes";
}

Result<std::string> ask_password(const std::string& whose, const std::string& instead) {
    const io::Descriptor terminal = open_terminal();
    if (!terminal) return no_terminal("the " + whose, instead);
    const Silence silence(terminal.get());
    auto typed = ask(terminal.get(), whose + ": ");
    if (!typed) return typed.error();
    if (!typed->empty()) return typed;
    return Error{.fault = Fault::session,
                 .message = "nothing was typed as the " + whose,
                 .path = {},
                 .side = Side::local,
                 .remedy = "type it, or " + instead};
}

}  // namespace lambda::client
