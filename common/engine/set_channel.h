// The set stream of a transfer over its links: both directions, on whichever stripes live
// (docs/protocol.md §4, STREAM). Engine thread.
#pragma once

#include "common/engine/links.h"
#include "common/transfer/set_stream.h"

namespace lambda::engine {

class SetChannel {
  public:
    transfer::StreamSender& out() { return out_; }
    // Of both directions, from now on.
    void watch(transfer::RecordWatch* watch) {
        out_.watch(watch);
        in_.watch(watch);
    }

    // False: malformed.
    bool handle_frame(const sabul::Frame& frame);
    std::optional<transfer::Record> next() { return in_.next(); }
    bool broken() const { return in_.broken(); }
    // The peer sends more than it may have under way, or takes nothing of what it asked for.
    bool flooded() const { return in_.flooded() || out_.unheard(); }
    // A link came, went or fell silent: what was not consumed goes again, and so does the word of
    // what was. A peer that missed it has perhaps no room to say anything that would call for the
    // next one.
    void on_links_changed() {
        out_.rewind();
        in_.tell_again();
    }
    // Sends what the links take. `quiet`: nothing else is going on, tell what was consumed.
    void pump(Links& links, bool quiet);
    // Tells what was consumed for the last time, behind the frames `ahead`, on every link: one that
    // lives may be stalled.
    void end(Links& links, ByteView ahead);

  private:
    // The names of many small files are more than a connection takes in its first round trips, and
    // would hold back the files: as many as there are begin side by side. Then one is enough, and
    // the others may stand still.
    static constexpr std::uint64_t kSpread = 4u << 20;
    static constexpr std::size_t kSpreadPiece = 4096;
    bool send_piece(Links& links);

    transfer::StreamSender out_;
    transfer::StreamReceiver in_;
    std::uint16_t turn_ = 0;  // which link's
    std::vector<std::byte> frame_;
};

}  // namespace lambda::engine
