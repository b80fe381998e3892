#include "server/session.h"

#include <algorithm>
#include <new>

#include "common/base/ascii.h"
#include "common/dialling/waiting.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "config/endpoint.h"
#include "server/plain_commands.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;
using io::IoStatus;
using Clock = asio::steady_timer::clock_type;

// A stripe speaks TLS at once and must not hear a plain 220; a plain client may wait for the 220.
// What speaks at once is heard within the first segment; a second allows for one lost.
constexpr std::chrono::seconds kGreetingDelay{1};
// For the last words of a transfer whose client has left, and to who is to leave; a lost segment's
// retransmission fits.
constexpr std::chrono::seconds kLinger{2};
constexpr std::size_t kReadBytes = 4096;
constexpr int kReadsInTurn = 64;          // a line may have no end
constexpr std::byte kTlsHandshake{0x16};  // RFC 8446 §5.1, content type
constexpr std::string_view kGreeting = "lambda-ftpd";
constexpr std::string_view kGaveWay =
    "Too many sessions, and nobody has logged in by this one; try later";

template <typename D>
Clock::time_point from_now(D duration) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(duration);
}

}  // namespace

Session::Session(Service& service, asio::ip::tcp::socket socket, Admission::Slot slot,
                 std::uint64_t number)
    : service_(service),
      connection_(std::move(socket)),
      slot_(std::move(slot)),
      label_("session " + std::to_string(number) + ": "),
      peer_(connection_.peer()),
      login_deadline_(from_now(service.settings.login_timeout)),
      idle_deadline_(login_deadline_) {
    slot_.may_go([this] { give_way(); });
}

asio::awaitable<void> Session::run() {
    const std::shared_ptr<Session> self = shared_from_this();
    io::log_debug(label_ + "connected from " + config::format_endpoint(peer_));
    bool has_memory = true;
    try {
        if (co_await secure()) co_await serve();
    } catch (const std::bad_alloc&) {
        has_memory = false;
    }
    if (!has_memory) io::log_error(io::no_memory(label_ + "ended").sentence());
    // What a client that says QUIT said to its transfer before may come after.
    connection_.set_deadline(from_now(kLinger));
    while (activity_ && quit_) {
        const Connection::Wait waited = co_await connection_.wait(IoStatus::ok);
        if (waited == Connection::Wait::deadline) break;
    }
    if (activity_) activity_->cancel("the client's session ended");
    io::log_debug(label_ + "ended");
}

// At once, though its client may not read, or its password wait for its turn: else more and more
// connections would stand beside those that have a place.
void Session::give_way() {
    slot_.release();
    log(service_.gave_way, "gave way to another: nobody had logged in");
    login_deadline_ = Clock::now();
    connection_.set_deadline(login_deadline_);
    changed_ = true;
    connection_.wake();
    service_.passwords.drop(Admission::host_of(peer_), proof_);
}

void Session::stop() {
    stopping_ = true;
    changed_ = true;
    connection_.wake();
}

void Session::accounts_replaced() {
    if (!revoked()) return;
    log("ends: the account is no more, or was changed");
    if (activity_) activity_->cancel("its account is no more, or was changed");
    set_deadline();  // its client may not read, which holds the coroutine up
    changed_ = true;
    connection_.wake();
}

// What was granted to another server runs to its end (docs/copy.md).
bool Session::revoked() const {
    if (!root_) return false;
    const Account* const now = find_account(*service_.accounts, user_, account_.password);
    return now == nullptr || *now != account_;
}

// From the first byte to the end of the handshake.
asio::awaitable<bool> Session::secure() {
    bool greeted = false;
    connection_.set_deadline(std::min(login_deadline_, from_now(kGreetingDelay)));
    std::byte first{};
    for (;;) {
        const IoStatus status = connection_.peek_first(first);
        if (status == IoStatus::ok) break;
        if (status != IoStatus::want_read || stopping_ || !slot_) co_return false;
        if (co_await connection_.wait(status) != Connection::Wait::deadline) continue;
        if (greeted) co_return false;
        greeted = true;
        connection_.set_deadline(login_deadline_);
        reply(220, kGreeting);
        if (!co_await connection_.flush(output_)) co_return false;
    }
    connection_.set_deadline(login_deadline_);
    const bool tls_at_once = first == kTlsHandshake && !greeted;
    if (!tls_at_once && !greeted) reply(220, kGreeting);
    bool plain = !tls_at_once;
    while (plain) {
        if (!co_await connection_.flush(output_)) co_return false;
        if (closing_ || stopping_ || !slot_) co_return false;
        const IoStatus status = connection_.read_plain(framer_);
        if (status != IoStatus::ok && status != IoStatus::want_read) co_return false;
        asio::awaitable<Connection::Wait> next =
            status == IoStatus::ok ? connection_.take_turns() : connection_.wait(status);
        if (co_await std::move(next) == Connection::Wait::deadline) co_return false;
        if (framer_.ready()) plain = !co_await answer_plain_line(framer_.take());
    }
    connection_.start_tls(service_.tls);
    if (!co_await connection_.handshake()) {
        const std::string why = connection_.tls().error();
        if (slot_) log(service_.no_tls, "no TLS: " + (why.empty() ? "it was not finished" : why));
        co_return false;
    }
    if (tls_at_once) reply(220, kGreeting);
    co_return true;
}

// True: TLS follows.
asio::awaitable<bool> Session::answer_plain_line(const session::Line& line) {
    const Result<session::Command> command = session::parse_command(line.text);
    if (line.fault != session::LineFault::none) {
        reply(line.fault == session::LineFault::too_long ? 500 : 501, to_string(line.fault));
    } else if (!command) {
        reply(500, command.error().sentence());
    } else if (command->verb == "AUTH") {
        const std::string mechanism = lower_case(command->argument);
        if (mechanism == "tls" || mechanism == "tls-c") {
            reply(234, "TLS follows");
            co_return co_await connection_.flush(output_);
        }
        reply(504, "AUTH takes TLS");
    } else if (command->verb == "QUIT") {
        reply(221, "Goodbye");
        closing_ = true;
        co_await connection_.flush(output_);
    } else if (command->verb == "FEAT" || command->verb == "NOOP") {
        reply(*answer_plain_command(*command));
    } else {
        reply(530, "Say AUTH TLS first");
    }
    co_return false;
}

asio::awaitable<void> Session::serve() {
    while (!closing_) {
        changed_ = false;
        const IoStatus status = read_lines();
        if (status == IoStatus::closed || status == IoStatus::failed) {
            quit_ = quit_ || queue_.says_quit();
            co_return;
        }
        while (!closing_ && !revoked() && slot_) {
            std::optional<session::Line> line = queue_.next(activity_.has_value());
            if (!line) break;
            co_await answer(std::move(*line));
            renew_idle_time();
            if (output_.size() > kMostUnsent) {
                changed_ = true;
                break;
            }
        }
        if (revoked() && !closing_) {
            reply(421, "This account is no more, or was changed; log in again");
            closing_ = true;
        }
        if ((stopping_ || !slot_) && !activity_ && !closing_) {
            reply(421, stopping_ ? "The server stops" : kGaveWay);
            closing_ = true;
        }
        set_deadline();
        // With no room nothing is read, and the client's end would not be heard of while this runs.
        if (activity_ && queue_.full() && !closing_) {
            reply(421, "More commands wait than may be in hand");
            closing_ = true;
            connection_.set_deadline(from_now(kLinger));
        }
        if (activity_ && activity_->speak) activity_->speak();
        if (!co_await connection_.flush(output_)) co_return;
        if (closing_) break;
        const bool more = changed_ || status == IoStatus::ok;
        asio::awaitable<Connection::Wait> next =
            more ? connection_.take_turns() : connection_.wait(status);
        if (co_await std::move(next) == Connection::Wait::deadline && !activity_ && slot_) {
            reply(421, root_ || granted_ ? "Nothing was said for too long" : "Nobody logged in");
            closing_ = true;
            connection_.set_deadline(from_now(kGreetingDelay));
            co_await connection_.flush(output_);
        }
    }
    if (!joined_) connection_.tls().shutdown();
}

// Takes in what has come until nothing has, the queue is full, or it is another's turn. What it
// wants to go on; ok: room.
IoStatus Session::read_lines() {
    for (int reads = 0;; ++reads) {
        while (!input_.empty() && !queue_.full()) {
            input_.erase(0, framer_.feed(input_));
            if (!framer_.ready()) continue;
            queue_.push(framer_.take());
        }
        if (queue_.full() || reads == kReadsInTurn) return IoStatus::ok;
        const IoStatus status = connection_.read(input_, kReadBytes);
        if (status != IoStatus::ok) return status;
    }
}

void Session::renew_idle_time() {
    idle_deadline_ = from_now(service_.settings.idle_timeout);
}

void Session::set_deadline() {
    if (revoked()) {
        connection_.set_deadline(from_now(kLinger));
    } else if (activity_) {
        connection_.set_deadline(Connection::Deadline::max());
    } else {
        connection_.set_deadline(root_ || granted_ ? idle_deadline_ : login_deadline_);
    }
}

void Session::reply(int code, std::string_view text) {
    output_ += session::format_reply(code, text);
}

void Session::reply(const session::Reply& reply) {
    output_ += session::format_reply(reply);
}

void Session::log(std::string_view text) const {
    io::log_info(label_ + std::string(text));
}

void Session::log(SparseLog& words, const std::string& text) const {
    const auto line =
        words.pick(Admission::host_of(peer_),
                   label_ + text + ", from " + config::format_endpoint(peer_), dialling::now());
    if (line) io::log_info(*line);
}

}  // namespace lambda::server
