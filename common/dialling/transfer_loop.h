// One agreed transfer, from its start to its end, at the end that dialled: the mover moves the data
// in its own thread; this loop dials its stripes, listens to the control session, tells the
// progress and hears who interrupts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/mailbox.h"
#include "common/base/time.h"
#include "common/base/units.h"
#include "common/dialling/connection.h"
#include "common/io/file/root.h"
#include "common/mover/mover.h"

namespace lambda::dialling {

// Who follows a transfer. On the loop's thread.
class TransferWatch {
  public:
    virtual ~TransferWatch() = default;
    // What should be said once.
    virtual void note(const std::string& text) = 0;
    // When look() is worth calling next; kNever: not at all.
    virtual Time next_look() const = 0;
    virtual void look(const mover::Progress& progress, Time now) = 0;
    // A sync does it, or would. Also after ended().
    virtual void changed(const transfer::Change&) {}
    // No look comes any more.
    virtual void ended() = 0;
};

class TransferLoop {
  public:
    // `setup` without its callbacks. `connection` and `watch` outlive it. Errors: no memory, no
    // socket.
    static Result<std::unique_ptr<TransferLoop>> make(Connection& connection, mover::Setup setup,
                                                      const std::string& token,
                                                      TransferWatch& watch);
    ~TransferLoop();

    // Keeps the transfer's rate below what `limit` says, 0: no limit. It is asked each second.
    // Before run().
    void follow(std::function<BitRate()> limit) { limit_now_ = std::move(limit); }

    // Until the mover has done all there was to do; or it was cut, and the server has answered or
    // is given up.
    const mover::Outcome& run();

  private:
    struct DialRequest {
        std::uint16_t stripe = 0;
        std::uint32_t epoch = 0;
    };
    TransferLoop(Connection& connection, TransferWatch& watch, io::Descriptor wake, bool sends);

    // On the mover's thread.
    void request_dial(std::uint16_t stripe, std::uint32_t epoch);
    void wake();

    bool over() const;
    void turn();
    void tell_changes();
    void begin_dials();
    void hear_server();
    void hear_interruption();
    void keep_rate(Time time);
    void end_by(Time deadline) { give_up_ = std::min(give_up_, deadline); }
    void stop(Error why);
    void abort();
    void sleep();

    Connection& connection_;
    TransferWatch& watch_;
    io::Descriptor wake_;
    Mailbox<DialRequest> dials_;
    std::atomic<bool> finished_ = false;
    std::unique_ptr<mover::Mover> mover_;
    const bool sends_;
    std::function<BitRate()> limit_now_;
    std::optional<BitRate> limit_;  // that the sender was told last
    Time ask_limit_at_{};
    unsigned rates_unanswered_ = 0;
    bool answered_ = false;  // XFER's final reply came, or will never come
    bool session_lost_ = false;
    bool hears_more_ = false;  // more may have come than a turn takes
    bool stopping_ = false;
    bool aborted_ = false;   // ABOR was sent
    Time give_up_ = kNever;  // when waiting for either end is over
};

}  // namespace lambda::dialling
