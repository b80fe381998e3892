// Where a sender at the server may send: to the source of a HELLO whose host is the control
// session's peer, or which echoed a challenge (docs/protocol.md §6, Addresses). Engine thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/engine/send_stripe.h"

namespace lambda::engine {

class AddressProof {
  public:
    // `control_peer`: the host that the control session proved.
    AddressProof(const Address& control_peer, std::function<void(ByteSpan)> fill_random)
        : control_peer_(control_peer), fill_random_(std::move(fill_random)) {}

    // A datagram that came to a sender's socket. True: it proved another peer of its stripe, which
    // is set. Anything else changes nothing.
    bool take(const ports::Arrival& arrival,
              const std::vector<std::unique_ptr<SendStripe>>& stripes, Time now);

  private:
    bool greet(SendStripe& stripe, const Address& from, Time now);

    Address control_peer_;
    std::function<void(ByteSpan)> fill_random_;
};

}  // namespace lambda::engine
