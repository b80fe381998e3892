// The sender of a transfer: blocks from the source, cut into packets for whichever stripe has room,
// paced by the law, resent where feedback says so (docs/protocol.md). Engine thread.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "common/engine/address_proof.h"
#include "common/engine/end.h"
#include "common/engine/links.h"
#include "common/engine/meter.h"
#include "common/engine/rate_control.h"
#include "common/engine/receiver_sockets.h"
#include "common/engine/resends.h"
#include "common/engine/send_stripe.h"
#include "common/engine/set_channel.h"
#include "common/engine/setup.h"
#include "common/engine/stall.h"
#include "common/transfer/offering.h"
#include "common/transfer/source.h"

namespace lambda::engine {

class SendSide final : public End, private Links::Handler {
  public:
    SendSide(Setup setup, Time now);

    Time turn(Time now) override;
    bool done() const override { return done_; }
    bool tight() const override { return short_paths_ && stripes_.front()->peer_room().small(); }
    void set_limit(BitRate limit) override { rate_.set_limit(limit); }
    void cut(const Error& why) override;
    Progress progress() const override;
    const Outcome& outcome() override;

  private:
    // Links::Handler
    void on_link(std::uint16_t stripe, bool again) override;
    void on_link_lost(std::uint16_t stripe) override;
    void on_link_silent(std::uint16_t) override { set_.on_links_changed(); }
    bool on_frame(std::uint16_t stripe, const sabul::Frame& frame) override;

    // send_feedback.cpp
    bool handle_ack(SendStripe& stripe, ByteView body);
    bool handle_nak(SendStripe& stripe, ByteView body);
    bool handle_snapshot(SendStripe& stripe, ByteView body);
    void apply(SendStripe& stripe, const sabul::FlowNews& news);
    bool handle_records();  // whether there may be more
    void handle_record(const transfer::Record& record);
    bool receive_datagrams(ports::DatagramSocket& socket);  // whether any came
    void give_up(SendStripe& stripe);

    // send_names.cpp. False: after their end.
    bool handle_want(const transfer::WantRecord& want);
    void keep_name(transfer::SourceName name);
    void set_plan();
    void set_walk(const transfer::WalkRecord& walk);
    // False: it is none about what stands at the target, or makes no sense.
    bool handle_standing(const transfer::Record& record);
    void feed_walker();
    // Whether who reads what is told of a sync has room for more.
    bool may_tell() const;
    void compare();
    void ask_for_patience();

    // send_side.cpp
    void end();
    // A copy is of what was sent again.
    enum class Sending { fresh, again, copy };
    bool send_some();
    void take_disk_events();
    bool send_on(SendStripe& stripe);
    bool fill(SendStripe& stripe, std::size_t room);
    bool whole_follows(const SendStripe& stripe, std::size_t text);
    std::optional<transfer::Cut> next_cut(SendStripe& stripe, std::size_t payload, Sending& how);
    bool copies_wanted() const;
    unsigned times_again() const;
    transfer::SendBlock* begun(std::optional<std::uint64_t> index);
    transfer::SendBlock* next_block();
    bool has_data(const SendStripe& stripe);
    bool flush(SendStripe& stripe);
    void take_back(SendStripe& stripe);
    std::size_t room(const SendStripe& stripe) const;
    std::size_t buffer_room(const SendStripe& stripe) const;
    bool keeps_turn(const SendStripe& stripe);
    bool may_send(const SendStripe& stripe) const;
    bool heard(const SendStripe& stripe) const;
    void find_sockets();
    void look_at_stripes();
    void maintain(SendStripe& stripe);
    Time next_time();
    void check_stall();
    bool unheard() const;

    // send_side_report.cpp
    void meter_waits();
    verdict::Figure wait_of(const SendStripe& stripe);
    verdict::Figure starved_of() const;
    bool all_arrived() const;
    bool none_left();
    verdict::Figures figures() const;
    void tell_spent();
    void sample(Time now);
    std::string_view why_nothing_moves();

    Setup setup_;
    Time now_;
    Links links_;
    SetChannel set_;
    transfer::Offering offering_;
    transfer::Source source_;
    RateControl rate_;
    std::vector<std::byte> burst_room_;
    std::vector<std::unique_ptr<SendStripe>> stripes_;
    Resends resends_;
    std::uint64_t credit_ = 0;
    bool credit_limited_ = false;
    std::size_t next_stripe_ = 0;
    ReceiverSockets sockets_;   // with what is untold of the stripes that were heard
    std::size_t open_all_ = 0;  // bytes, of all stripes
    bool short_paths_ = false;  // of all that were heard
    bool block_by_block_ = false;
    std::deque<transfer::SourceName> names_left_;
    std::size_t names_left_bytes_ = 0;
    std::vector<std::uint64_t> orphans_;  // blocks begun by a stripe that is gone
    bool wants_done_ = false;
    bool walk_set_ = false;
    bool names_ended_ = false;  // the walker knows all of them
    Time patience_at_;          // when the receiver is asked for it next, if need be
    DiskWatch disk_watch_;
    std::uint64_t disk_events_ = 0;
    MotionWatch motion_;
    std::string_view standstill_;
    Time first_sent_ = kNever;
    Time last_progress_;
    bool done_ = false;
    Outcome outcome_;
    Meter meter_;
    QueueMeter queue_;
    CarriedMeter carried_;
    verdict::Figures far_;  // the receiver's
    Time spent_told_{};
    std::uint64_t packets_told_ = 0;
    AddressProof addresses_;
    std::vector<std::byte> frame_;
};

}  // namespace lambda::engine
