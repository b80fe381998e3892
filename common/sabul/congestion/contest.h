// How `sabul` holds a share beside flows that fill the queue (rival.h finds them).
//
// First by a CUBIC window (RFC 9438), as one more of them. Where that has next to nothing after
// seconds, loss is not what the others listen to: then by the model of BBR, as another of those. A
// window that is only just poor opens once more before: it met a full queue, perhaps; so does one
// that has little, now and then. If the path is nearly ours after that, and loses little, they did
// listen, and the window it is again. Who came late never saw what the path carries, and sounds it.
//
// Left: every `stay` most of the rate goes for two rounds (BBR: all of it, for 200 ms); a queue
// that empties then may be ours alone, and the law goes on by itself. Pure.
#pragma once

#include <limits>
#include <optional>

#include "common/base/time.h"
#include "common/sabul/congestion/bbr.h"
#include "common/sabul/congestion/cubic.h"
#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/sounding.h"

namespace lambda::sabul {

// What a contest begins with, and what it leaves for the next.
struct ContestTerms {
    double rate = 0;          // bytes a second
    double best = 0;          // what the path once gave us, or carries, bytes a second
    bool newcomer = true;     // open the window as a newcomer's ...
    bool opens_again = true;  // ... and once more, if that was not quite enough
    bool sounded = false;     // what the path carries counts in `best`, or can't be told
    bool by_model = false;
    Duration stay = std::chrono::seconds(10);
};

class Contest {
  public:
    Contest(const LawSettings& settings, const ContestTerms& terms, Time now, Duration round);

    // One step of the law: what gets through, the queueing delay (seconds).
    void step(Time now, const Delivery& delivery, double queue, Duration round);
    void on_ack(const AckSample& sample);
    void on_loss(const LossSample& sample);
    void on_syn(const SynSample& sample);

    // Bytes a second.
    double rate(Time now, Duration round) const;
    // Bytes in flight; nothing: whatever the rate asks for.
    std::optional<double> window() const;
    // The queue emptied when we stood back.
    bool over() const { return over_; }
    ContestTerms terms() const;

  private:
    void plan_probe(Time now, Duration round);
    void probe(Time now, double queue, Duration round);
    void sound(Time now, const Delivery& delivery, double queue, Duration round);
    void open_again(Time now);
    void begin_model(Time now, double rate, Duration round);
    void judge_model(Time now, Duration round);
    // It grows no further than to what that takes.
    bool used() const;
    bool probing(Time now) const { return now >= probe_from_ && now < probe_to_; }

    static constexpr double kNone = std::numeric_limits<double>::infinity();
    const LawSettings settings_;
    ContestTerms terms_;
    bool over_ = false;
    double packet_bytes_ = 1440;
    double share_;                  // what gets through, smoothed over a second
    double lost_ = 0, passed_ = 0;  // packets, of the last seconds
    Time last_step_;
    double delivered_ = 0;  // bytes that a round delivered lately
    Time poor_since_, scant_since_, opened_;
    Duration model_pause_;
    Time next_model_{};
    // By a window.
    Cubic rule_;
    bool slow_start_;
    double window_;  // packets
    Time event_at_;
    std::optional<Sounding> sounding_;
    // By the model.
    std::optional<Bbr> model_;
    Time judged_at_{};
    // Standing back.
    Time probe_from_{}, probe_to_{};
    double probe_least_ = kNone;
};

}  // namespace lambda::sabul
