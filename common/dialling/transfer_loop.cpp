#include "common/dialling/transfer_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lambda::dialling {
namespace {

// Twice what all stripes can ask for at once: each has one dial in hand.
constexpr std::size_t kDialsInHand = 2 * session::kMaxStripes;
// Once one end has ended, for the other to say so.
constexpr Duration kEndTimeout = std::chrono::seconds(10);
// After an interruption.
constexpr Duration kStopTimeout = std::chrono::seconds(3);
// RATE commands without an answer; the server takes 64 commands in hand.
constexpr unsigned kMostRates = 16;
// In a turn: who never stops talking holds up nothing else.
constexpr unsigned kMostReplies = 64;
constexpr Duration kAskLimitEvery = std::chrono::seconds(1);
// Where nothing else ends a wait.
constexpr Duration kLongestSleep = std::chrono::seconds(60);

}  // namespace

Result<std::unique_ptr<TransferLoop>> TransferLoop::make(Connection& connection, mover::Setup setup,
                                                         const std::string& token,
                                                         TransferWatch& watch) {
    io::Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return errno_error(Fault::session, "cannot make an eventfd", {}, errno);
    std::unique_ptr<TransferLoop> loop(new TransferLoop(
        connection, watch, std::move(wake), setup.terms.direction == session::Direction::put));
    TransferLoop* self = loop.get();
    const std::uint16_t stripes = setup.terms.stripes;
    setup.dial = [self](std::uint16_t stripe, std::uint32_t epoch) {
        self->request_dial(stripe, epoch);
    };
    setup.finished = [self] {
        self->finished_ = true;
        self->wake();
    };
    auto mover = mover::Mover::make(std::move(setup));
    if (!mover) return mover.error();
    loop->mover_ = *std::move(mover);
    for (const std::string& note : loop->mover_->notes()) watch.note(note);
    connection.joins().open(
        token, stripes,
        Joins::Handlers{
            .joined =
                [self](std::uint16_t stripe, std::uint32_t epoch, io::TlsStream stream) {
                    self->mover_->join(stripe, epoch, std::move(stream));
                },
            .failed = [self](Error error) { self->mover_->failed_dial(std::move(error)); }});
    if (auto started = loop->mover_->start(); !started) return started.error();
    return loop;
}

TransferLoop::TransferLoop(Connection& connection, TransferWatch& watch, io::Descriptor wake,
                           bool sends)
    : connection_(connection),
      watch_(watch),
      wake_(std::move(wake)),
      dials_(kDialsInHand),
      sends_(sends) {}

TransferLoop::~TransferLoop() {
    connection_.joins().close();
    mover_.reset();  // its thread calls back into the members
}

const mover::Outcome& TransferLoop::run() {
    while (!over()) {
        if (now() >= give_up_) {
            if (finished_) break;
            stop(Error{.fault = Fault::cut,
                       .message = "the server ended the transfer before it was done here",
                       .path = {},
                       .side = Side::network,
                       .remedy = "run the same command again"});
            give_up_ = kNever;  // the mover always ends once it was stopped
        }
        turn();
        sleep();
    }
    watch_.ended();
    if (rates_unanswered_ > 0 && !session_lost_ && !stopping_)
        watch_.note("the server did not say that it keeps the rate limit: it may be too old");
    tell_changes();
    return mover_->outcome();
}

// A mover that was not cut knows that nothing is left to do, and the server's reply could tell no
// more.
bool TransferLoop::over() const {
    return finished_ && (answered_ || !mover_->outcome().cut);
}

void TransferLoop::request_dial(std::uint16_t stripe, std::uint32_t epoch) {
    // There is no room only while this loop stands still; the engine asks again.
    if (dials_.put({stripe, epoch})) wake();
}

void TransferLoop::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void TransferLoop::turn() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
    begin_dials();
    connection_.joins().advance();
    hear_server();
    hear_interruption();
    tell_changes();
    const Time time = now();
    keep_rate(time);
    if (finished_ && mover_->outcome().cut) abort();
    if (finished_ && !answered_) end_by(time + (stopping_ ? kStopTimeout : kEndTimeout));
    if (!finished_ && time >= watch_.next_look()) watch_.look(mover_->progress(), time);
}

void TransferLoop::tell_changes() {
    for (const transfer::Change& change : mover_->take_changes()) watch_.changed(change);
}

void TransferLoop::begin_dials() {
    while (const auto request = dials_.take()) {
        if (!finished_) connection_.joins().begin(request->stripe, request->epoch);
    }
}

void TransferLoop::hear_server() {
    hears_more_ = false;
    for (unsigned heard = 0; !session_lost_; ++heard) {
        hears_more_ = heard == kMostReplies;
        if (hears_more_) return;
        const auto reply = connection_.poll();
        if (!reply) {
            session_lost_ = answered_ = true;
            if (!finished_) stop(reply.error());
            return;
        }
        if (!*reply) return;
        if (answered_ || (*reply)->preliminary()) continue;
        if ((*reply)->code == 200 && rates_unanswered_ > 0) {
            --rates_unanswered_;
            continue;
        }
        answered_ = true;
        if ((*reply)->code == 226) {
            if (!finished_) {
                mover_->peer_ended();
                end_by(now() + kEndTimeout);
            }
            continue;
        }
        Error cut = refusal(**reply, Fault::cut, {});
        cut.message = "the server ended the transfer: " + (*reply)->text();
        cut.remedy = "run the same command again";
        stop(std::move(cut));
    }
}

void TransferLoop::hear_interruption() {
    if (stopping_ || !connection_.interruption().raised()) return;
    stop(interruption_error());
    abort();
}

// The sender keeps the limit: here, or at the server, which is told.
void TransferLoop::keep_rate(Time time) {
    if (!limit_now_ || finished_ || stopping_ || time < ask_limit_at_) return;
    ask_limit_at_ = time + kAskLimitEvery;
    const BitRate limit = limit_now_();
    if (limit_ == limit) return;
    if (sends_) {
        mover_->set_limit(limit);
    } else {
        if (answered_ || session_lost_ || rates_unanswered_ == kMostRates) return;
        ++rates_unanswered_;
        const auto bits = static_cast<std::uint64_t>(limit.bits_per_second);
        LAMBDA_ASSERT(connection_.send("RATE", std::to_string(bits)).ok());
        hear_server();  // sends it
    }
    if (limit_) {
        watch_.note(limit.bits_per_second > 0 ? "the rate is now limited to " + format_rate(limit)
                                              : "the rate is now not limited");
    }
    limit_ = limit;
}

// Once; the server need not wait for what will not come.
void TransferLoop::abort() {
    stopping_ = true;
    if (aborted_ || answered_ || session_lost_) return;
    aborted_ = true;
    LAMBDA_ASSERT(connection_.send("ABOR").ok());
    hear_server();  // sends it
}

void TransferLoop::stop(Error why) {
    stopping_ = true;
    mover_->stop(std::move(why));
}

void TransferLoop::sleep() {
    if (over() || hears_more_) return;
    std::vector<pollfd> sockets;
    sockets.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    if (!session_lost_) {
        sockets.push_back({.fd = connection_.fd(), .events = connection_.events(), .revents = 0});
    }
    if (!stopping_) {
        const int interruption = connection_.interruption().fd();
        sockets.push_back({.fd = interruption, .events = POLLIN, .revents = 0});
    }
    connection_.joins().add_to(sockets);
    const Time ask = limit_now_ && !finished_ ? ask_limit_at_ : kNever;
    poll_until(sockets, std::min({now() + kLongestSleep, watch_.next_look(), ask,
                                  connection_.joins().deadline(), give_up_}));
}

}  // namespace lambda::dialling
