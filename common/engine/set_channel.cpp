#include "common/engine/set_channel.h"

namespace lambda::engine {

bool SetChannel::handle_frame(const sabul::Frame& frame) {
    if (frame.type == static_cast<std::uint8_t>(sabul::FrameType::stream)) {
        const auto piece = sabul::parse_stream(frame.body);
        if (!piece) return false;
        in_.handle_piece(*piece);
        return true;
    }
    const auto consumed = sabul::parse_stream_ack(frame.body);
    return consumed && out_.handle_consumed(*consumed);
}

void SetChannel::pump(Links& links, bool quiet) {
    while (out_.has_piece() && send_piece(links)) {
    }
    const std::uint16_t primary = links.primary();
    if (primary == links.stripes() || !in_.ack_due(quiet) || !links.ready(primary)) return;
    frame_.clear();
    sabul::append_stream_ack(frame_, in_.consumed());
    links.send(primary, frame_);
    in_.told();
}

// False: there is no room.
bool SetChannel::send_piece(Links& links) {
    const bool spread = out_.sent() < kSpread;
    std::uint16_t stripe = links.primary();
    if (stripe == links.stripes()) return false;
    if (spread) {  // where something is heard, or else where one lives
        std::uint16_t tried = 0, next = 0;
        do {
            next = turn_++ % links.stripes();
        } while (!(links.heard(next) && links.ready(next)) && ++tried < links.stripes());
        if (tried < links.stripes()) stripe = next;
    }
    if (!links.ready(stripe)) return false;
    frame_.clear();
    const auto piece = out_.next_piece(spread ? kSpreadPiece : sabul::kMaxStreamBytes);
    sabul::append_stream(frame_, piece->offset, piece->bytes);
    links.send(stripe, frame_);
    return true;
}

void SetChannel::end(Links& links, ByteView ahead) {
    frame_.assign(ahead.begin(), ahead.end());
    sabul::append_stream_ack(frame_, in_.consumed());
    for (std::uint16_t stripe = 0; stripe < links.stripes(); ++stripe) {
        if (links.ready(stripe)) links.send(stripe, frame_);
    }
}

}  // namespace lambda::engine
