#include "common/transfer/set_stream.h"

#include <algorithm>

namespace lambda::transfer {

void StreamSender::put(const Record& record) {
    append_record(bytes_, record);
    if (watch_ != nullptr) watch_->passes(record);
}

std::optional<sabul::StreamPiece> StreamSender::next_piece(std::size_t most) {
    if (sent_ >= end()) return std::nullopt;
    const std::size_t at = gone_ + static_cast<std::size_t>(sent_ - start_);
    const std::size_t length = std::min(bytes_.size() - at, most);
    const sabul::StreamPiece piece{sent_, ByteView(bytes_).subspan(at, length)};
    sent_ += length;
    return piece;
}

bool StreamSender::handle_consumed(std::uint64_t consumed) {
    if (consumed > end()) return false;
    if (consumed <= start_) return true;
    gone_ += static_cast<std::size_t>(consumed - start_);
    start_ = consumed;
    sent_ = std::max(sent_, start_);
    if (gone_ > kStreamWindow / 4 || gone_ == bytes_.size()) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(gone_));
        gone_ = 0;
    }
    return true;
}

std::optional<Record> StreamReceiver::next() {
    auto record = reader_.next();
    if (record && watch_ != nullptr) watch_->passes(*record);
    return record;
}

void StreamReceiver::handle_piece(const sabul::StreamPiece& piece) {
    if (piece.offset > received_) return keep_early(piece);
    append(piece);
    while (!early_.empty() && early_.begin()->first <= received_) {
        const auto first = early_.extract(early_.begin());
        early_bytes_ -= first.mapped().size() + kPieceOverhead;
        append({first.key(), first.mapped()});
    }
}

void StreamReceiver::keep_early(const sabul::StreamPiece& piece) {
    if (flooded()) return;
    std::vector<std::byte>& kept = early_[piece.offset];
    if (kept.size() >= piece.bytes.size()) return;
    if (kept.empty()) early_bytes_ += kPieceOverhead;
    early_bytes_ += piece.bytes.size() - kept.size();
    kept.assign(piece.bytes.begin(), piece.bytes.end());
}

void StreamReceiver::append(const sabul::StreamPiece& piece) {
    if (piece.offset + piece.bytes.size() <= received_) return;
    const ByteView fresh = piece.bytes.subspan(static_cast<std::size_t>(received_ - piece.offset));
    reader_.put(fresh);
    received_ += fresh.size();
}

}  // namespace lambda::transfer
