#include "common/sabul/congestion/fixed.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

// A fixed rate has no need of a window but to bound what a dead path can swallow: twice what is in
// flight at that rate, and one second before the round trip is known.
double window_at(BitRate rate, Duration span) {
    return 2 * rate.bytes_per_second() * seconds(span);
}

}  // namespace

Fixed::Fixed(const LawSettings& settings)
    : rate_(settings.highest.bits_per_second > 0 ? settings.highest : settings.initial),
      syn_(settings.syn),
      window_(window_at(rate_, std::chrono::seconds(1))) {}

void Fixed::on_syn(const SynSample& sample) {
    window_ = std::max(window_at(rate_, sample.rtt + syn_), 16 * sample.packet_bytes);
}

}  // namespace lambda::sabul
