// The receiver of a transfer: packets checked, opened straight into their place, acknowledged; the
// sink writes and commits (docs/protocol.md). Engine thread.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "common/engine/end.h"
#include "common/engine/links.h"
#include "common/engine/meter.h"
#include "common/engine/set_channel.h"
#include "common/engine/setup.h"
#include "common/engine/stall.h"
#include "common/engine/tell_pace.h"
#include "common/engine/text_run.h"
#include "common/sabul/receive_flow.h"
#include "common/transfer/comparison.h"
#include "common/transfer/sink.h"
#include "common/transfer/wanted.h"

namespace lambda::engine {

class ReceiveSide final : public End, private Links::Handler {
  public:
    ReceiveSide(Setup setup, Time now);

    Time turn(Time now) override;
    bool done() const override { return done_; }
    bool tight() const override { return stripes_.front()->flow.room().small(); }
    void peer_ended() override { peer_ended_ = true; }
    void cut(const Error& why) override;
    Progress progress() const override;
    const Outcome& outcome() override;

  private:
    struct Stripe {
        Stripe(std::uint16_t number, const Setup& setup);
        std::uint16_t index;
        ports::DatagramSocket& socket;
        const StripeCiphers& ciphers;
        Address peer;  // client: where HELLOs go
        sabul::ReceiveFlow flow;
        sabul::PacketNumber reverse_next = 0;
        Time hello_at{};
        Duration hello_pause{0};
        bool heard = false;  // a packet of the sender came
        TellPace pace;
    };

    // Packets of one stripe that are opened in one call. Their ranges ascend, so that no packet can
    // be opened over another one's bytes before that one was marked.
    struct Batch {
        static constexpr std::size_t kMost = 64;
        std::array<ports::OpenJob, kMost> jobs{};
        std::array<sabul::Header, kMost> headers{};
        std::array<Time, kMost> arrivals{};
        std::size_t count = 0;
        Stripe* stripe = nullptr;
        std::uint64_t end = 0;  // place behind the last range
    };

    // Links::Handler
    void on_link(std::uint16_t stripe, bool again) override;
    void on_link_lost(std::uint16_t stripe) override;
    void on_link_silent(std::uint16_t) override { set_.on_links_changed(); }
    bool on_frame(std::uint16_t stripe, const sabul::Frame& frame) override;

    bool receive(std::size_t socket);
    void take(const ports::Arrival& arrival);
    void open_batch();
    void apply(Stripe& stripe, const sabul::Header& header, const ports::OpenJob& job,
               Time arrived);
    void answer(Stripe& stripe, ByteView challenge);
    void send_reverse(Stripe& stripe, sabul::PacketType type, ByteView text);
    void greet(Stripe& stripe);
    void hurry_ack();
    void acknowledge(Stripe& stripe);
    // A sender out of credit sends nothing that would be acknowledged: one stripe tells it of new
    // room.
    void tell_credit();
    bool handle_records();  // whether there may be more
    bool handle_record(const transfer::Record& record);
    bool set_plan(const transfer::SyncRecord& plan);
    bool within_plan() const;
    bool within_grant(const transfer::Record& record) const;
    void miss_unheard();
    void look();
    void ask();
    Time next_time();
    void check_stall();
    bool heard() const;
    std::string_view why_nothing_moves() const;
    verdict::Figures figures() const;
    void tell_spent();
    void sample();
    void count_time();
    void maybe_end();

    Setup setup_;
    Time now_;
    Links links_;
    SetChannel set_;
    transfer::Comparison comparison_;
    transfer::Sink sink_;
    std::vector<std::unique_ptr<Stripe>> stripes_;
    std::deque<transfer::WantRecord> wants_;  // not said yet
    transfer::Wanted wanted_;                 // of a client
    Time patience_at_;                        // when the sender is asked for it next, if need be
    DiskWatch disk_watch_;
    std::uint64_t disk_events_ = 0;
    MotionWatch motion_;
    std::string_view standstill_;
    bool walk_sent_ = false;
    bool plan_heard_ = false;
    bool want_end_sent_ = false;
    Batch batch_;
    std::vector<TextRun> runs_;       // one a socket
    std::vector<std::byte> scratch_;  // one packet's text
    std::vector<std::byte> frame_;
    std::vector<std::byte> bitmap_;
    std::uint64_t credit_told_ = 0;
    Time credit_told_at_{};
    Time first_data_ = kNever;
    Time last_progress_;
    Time ended_ = kNever;  // SET_DONE was put
    bool done_ = false;
    bool peer_ended_ = false;
    Outcome outcome_;
    Meter meter_;
    verdict::Figures far_;  // the sender's
    Time spent_told_{};
    bool finish_told_ = false;
};

}  // namespace lambda::engine
