// The feedback connections of a transfer, one for each stripe: frames in and out, silence and loss
// of a connection, and the new one beside it (docs/protocol.md §4). Engine thread. Bounds: what a
// FeedbackChannel queues, and one frame that waits, for each stripe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/time.h"
#include "common/ports/feedback.h"
#include "common/sabul/feedback.h"

namespace lambda::engine {

class Links {
  public:
    class Handler {
      public:
        virtual ~Handler() = default;
        // A connection stands; `again`: in place of one that stood before.
        virtual void on_link(std::uint16_t stripe, bool again) = 0;
        // The connection is gone and none has taken its place yet.
        virtual void on_link_lost(std::uint16_t stripe) = 0;
        // It stands and says nothing for longer than its patience: what was given to it may never
        // arrive.
        virtual void on_link_silent(std::uint16_t stripe) = 0;
        // False: malformed; the connection ends.
        virtual bool on_frame(std::uint16_t stripe, const sabul::Frame& frame) = 0;
    };

    Links(ports::FeedbackSource& source, std::uint16_t stripes, bool dials);

    // Dials what is missing or silent, takes what stands, reads what came, and no more than a bound
    // for each stripe: where more waits, next_time() is now.
    void poll(Time now, Handler& handler);
    // How long a connection of this stripe may be silent.
    void set_patience(std::uint16_t stripe, Duration round_trip);

    bool alive(std::uint16_t stripe) const { return links_[stripe].channel != nullptr; }
    bool any_alive() const { return primary() < links_.size(); }
    // The lowest stripe that lives and is not silent, or that lives if none is heard; stripes()
    // where none lives.
    std::uint16_t primary() const;
    // Whether something was heard of it within its patience, when polled last.
    bool heard(std::uint16_t stripe) const { return alive(stripe) && !links_[stripe].silent; }
    std::uint16_t stripes() const { return static_cast<std::uint16_t>(links_.size()); }
    // Whether a frame can be given now.
    bool ready(std::uint16_t stripe);
    // A frame waits for the channel, whose end wakes the engine once it takes more.
    bool blocked(std::uint16_t stripe) const { return !links_[stripe].waiting.empty(); }
    // Of the stripe's connection, which must be alive.
    std::optional<ports::FeedbackChannel::Carriage> carriage(std::uint16_t stripe) {
        return links_[stripe].channel->carriage();
    }
    // Likewise: bytes that wait for TCP's window.
    std::size_t backlog(std::uint16_t stripe) { return links_[stripe].channel->backlog(); }
    // Frames, whole. Only where ready(); kept here if the channel is full.
    void send(std::uint16_t stripe, ByteView frames);
    // Since when no stripe has a connection; kNever while one has.
    Time dead_since() const { return dead_since_; }
    Time next_time() const;

  private:
    struct Link {
        std::unique_ptr<ports::FeedbackChannel> channel;
        sabul::Framer framer;
        std::vector<std::byte> waiting;
        std::uint32_t epoch = 0;    // of the channel
        std::uint32_t dialled = 0;  // the highest epoch asked for
        Time heard{};
        bool silent = false;  // for longer than `patience`
        Time dial_again{};    // not before
        Duration pause{0};    // between dials; doubles
        Duration patience = std::chrono::seconds(1);
    };
    void read(std::uint16_t stripe, Time now, Handler& handler);
    void dial(std::uint16_t stripe, Time now);
    void drop(std::uint16_t stripe, Time now, Handler& handler);

    ports::FeedbackSource& source_;
    const bool dials_;
    std::vector<Link> links_;
    Time dead_since_ = kNever;
    bool begun_ = false;
    bool more_ = false;  // may wait at one that was read up to the bound
};

}  // namespace lambda::engine
