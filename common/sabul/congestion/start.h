// How `sabul` begins on a path, and once more after a silence: to what the path carries in a
// logarithmic number of round trips, with as little of a queue as may be where it was known before
// (docs/congestion.md, "The start"). It says the rate to go on with until it is over, and then what
// was delivered.
#pragma once

#include <optional>

#include "common/base/time.h"
#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Start {
  public:
    struct Passed {       // what got through lately, over all stripes; bytes a second
        double left = 0;  // mean of the rate when it left
        double delivered = 0;
        double latest = 0;  // of the last interval alone
        bool limited = false;
    };
    struct Sight {  // what is seen at an ACK
        Time now{};
        Duration rtt{0}, round{0};
        double rate = 0;               // in force, bytes a second
        double left = 0;               // mean of it when what this ACK tells of left
        double queue = 0;              // s
        double loss = 0;               // share
        std::optional<Passed> passed;  // none while too little did
    };

    explicit Start(const LawSettings& settings);
    // The rate to go on with; where this ends the start, what was delivered.
    double next(const Sight& sight);
    bool over() const { return over_; }
    // What the path carried long ago says no more of it than what it carried before a silence.
    void again();
    // Not beyond this rate before something of it gets through.
    void hold(double rate);
    // After it was over, at each step: whether a path that is known for far more has been calm,
    // that is without a queue or a loss, for so long so soon that it is tried once more. True: it
    // is not over any more.
    bool take_up(Time now, Duration round, double rate, bool calm);

  private:
    double bound() const;
    void go_beyond(const Passed& passed);
    void end_round(const Sight& sight, double delivered);
    void begin();

    bool competes_;
    double gain_;
    double known_;         // bytes a second that the path carried lately; 0: not known
    double familiar_ = 0;  // bytes a second that may be tried; 0: any
    double beyond_ = 0;    // the next step beyond that
    double seen_ = 0;      // in force when it was last seen what got through
    double proven_ = 0;    // that got through on a known path, at best
    double best_round_ = 0;
    int flat_rounds_ = 0;
    int full_acks_ = 0;
    Time round_end_{};
    Time queued_since_ = kNever;  // without a break
    bool over_ = false;
    bool may_take_up_;
    Time ended_{};  // as take_up() knows it
    Time calm_since_ = kNever;
};

}  // namespace lambda::sabul
