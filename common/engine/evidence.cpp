#include "common/engine/evidence.h"

#include "common/sabul/congestion/registry.h"

namespace lambda::engine {

verdict::Evidence evidence_of(const Setup& setup, const verdict::Figures& sender,
                              const verdict::Figures& receiver, bool sends) {
    const session::Terms& terms = setup.terms;
    return {.sender = sender,
            .receiver = receiver,
            .sender_here = sends,
            .law = terms.congestion,
            .law_is_fixed = sabul::keeps_rate(terms.congestion),
            .law_yields_to_loss = sabul::yields_to_loss(terms.congestion),
            .rate_limit = terms.highest_rate,
            .window = terms.window,
            .memory = terms.memory};
}

}  // namespace lambda::engine
