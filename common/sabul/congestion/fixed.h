// `fixed`: the rate that the user set, whatever happens. For reserved paths and for measurements.
#pragma once

#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Fixed final : public Law {
  public:
    explicit Fixed(const LawSettings& settings);
    void on_ack(const AckSample&) override {}
    void on_loss(const LossSample&) override {}
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override { return rate_; }
    double window() const override { return window_; }

  private:
    BitRate rate_;
    Duration syn_;
    double window_;
};

}  // namespace lambda::sabul
