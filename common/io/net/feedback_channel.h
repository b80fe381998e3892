// Feedback as the engine's port, over TLS.
#pragma once

#include <memory>

#include "common/io/tls/tls.h"
#include "common/ports/feedback.h"

namespace lambda::io {

class Reactor;

// A feedback channel over a TLS stream whose handshake and JOIN are done. TCP_NODELAY.
std::unique_ptr<ports::FeedbackChannel> make_feedback_channel(TlsStream stream, Reactor& reactor);

}  // namespace lambda::io
