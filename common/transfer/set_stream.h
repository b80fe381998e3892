// One direction of the set stream over feedback connections that may die: bytes are kept until the
// peer consumed them, and go again on the next connection (docs/protocol.md §4, STREAM). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/cursor.h"
#include "common/sabul/feedback.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

constexpr std::size_t kStreamWindow = 1u << 20;
// Of what must be said whether there is room or not: far more than all that is in hand calls for.
constexpr std::size_t kMostUnheard = 128 * kStreamWindow;

// Who sees the records of both directions pass, each once and in the order of its direction: those
// of this end as they are put, the other's before they are handled.
class RecordWatch {
  public:
    virtual ~RecordWatch() = default;
    virtual void passes(const Record& record) = 0;
};

class StreamSender {
  public:
    // From the next put() on; it must outlive the last.
    void watch(RecordWatch* watch) { watch_ = watch; }
    // Whether a record of the largest size may be put.
    bool has_room() const { return waiting() + kMaxRecordBytes <= kStreamWindow; }
    void put(const Record& record);
    // The peer asks for answers and takes none: the transfer should end.
    bool unheard() const { return waiting() > kMostUnheard; }

    // The next bytes to send, at most so many, or nothing. They count as sent.
    std::optional<sabul::StreamPiece> next_piece(std::size_t most = sabul::kMaxStreamBytes);
    bool has_piece() const { return sent_ < end(); }
    std::uint64_t sent() const { return sent_; }
    // The connection is another one: what was not consumed goes again.
    void rewind() { sent_ = start_; }
    // False: the peer consumed what was never sent.
    bool handle_consumed(std::uint64_t consumed);
    bool all_consumed() const { return waiting() == 0; }

  private:
    std::size_t waiting() const { return bytes_.size() - gone_; }
    std::uint64_t end() const { return start_ + waiting(); }

    std::vector<std::byte> bytes_;  // from start_ on, behind `gone_` consumed ones
    std::size_t gone_ = 0;
    std::uint64_t start_ = 0;  // stream offset of the first byte that was not consumed
    std::uint64_t sent_ = 0;
    RecordWatch* watch_ = nullptr;
};

class StreamReceiver {
  public:
    // From the next next() on; it must outlive the last.
    void watch(RecordWatch* watch) { watch_ = watch; }
    // Takes what is new of it. What lies behind a gap waits for what is missing: each connection
    // keeps its own order alone.
    void handle_piece(const sabul::StreamPiece& piece);
    std::optional<Record> next();
    bool broken() const { return reader_.broken(); }
    // Behind the last record that was taken: whoever takes none holds the peer back.
    std::uint64_t consumed() const { return received_ - reader_.waiting(); }
    // The peer sent far more than it may have under way.
    bool flooded() const { return reader_.waiting() + early_bytes_ > 8 * kStreamWindow; }
    // Whether the peer should be told consumed() now; once for each change of 64 KiB, or when asked
    // at a quiet moment.
    bool ack_due(bool quiet) const {
        return consumed() - told_ >= (quiet ? 1u : sabul::kMaxStreamBytes);
    }
    void told() { told_ = consumed(); }
    // What was told may be lost with its connection: it is due again.
    void tell_again() { told_ = 0; }

  private:
    // What a piece that waits takes beside its bytes.
    static constexpr std::size_t kPieceOverhead = 128;
    void keep_early(const sabul::StreamPiece& piece);
    void append(const sabul::StreamPiece& piece);

    RecordReader reader_;
    std::uint64_t received_ = 0;
    std::map<std::uint64_t, std::vector<std::byte>> early_;  // by their offsets
    std::size_t early_bytes_ = 0;
    std::uint64_t told_ = 0;
    RecordWatch* watch_ = nullptr;
};

}  // namespace lambda::transfer
