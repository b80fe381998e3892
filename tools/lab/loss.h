// Which packets are lost. With a mean burst of 1 each by itself; above, the chain of Gilbert
// (1960): in its bad state every packet is lost, and it stays there for `burst` packets in the
// mean.
#pragma once

#include "tools/lab/path.h"
#include "tools/lab/random.h"

namespace lambda::lab {

// The longest mean burst a chain can have at this rate is unbounded; the highest rate at this burst
// is burst/(burst + 1), where every good packet is followed by a burst.
constexpr double highest_loss(double burst) {
    return burst > 1 ? burst / (burst + 1) : 1;
}

class LossProcess {
  public:
    void set(const Loss& loss) {
        loss_ = loss;
        if (loss_.burst <= 1 || loss_.rate <= 0) losing_ = false;
    }

    bool loses(Random& random) {
        if (loss_.burst <= 1) return random.chance(loss_.rate);
        if (losing_) {
            losing_ = !random.chance(1 / loss_.burst);
        } else {
            losing_ = random.chance(loss_.rate / (loss_.burst * (1 - loss_.rate)));
        }
        return losing_;
    }

  private:
    Loss loss_;
    bool losing_ = false;
};

}  // namespace lambda::lab
