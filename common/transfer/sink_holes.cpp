// What of a file is not sent: its blocks count as finished from the start, so that those that come
// leave no gaps.
#include "common/transfer/sink.h"

namespace lambda::transfer {

void Sink::finish_holes(const FileRecord& record) {
    if (record.data.empty()) return;
    std::uint64_t at = 0;
    for (const Range& range : record.data) {
        finish_blocks_of(record, {at, range.first});
        at = range.last;
    }
    finish_blocks_of(record, {at, record.size});
}

// Those that lie in a range wholly; the last block of a large file has nothing else in it.
void Sink::finish_blocks_of(const FileRecord& record, Range offsets) {
    const std::uint64_t last =
        offsets.last == record.size ? behind(record) : record.place + offsets.last;
    const Range blocks{(record.place + offsets.first + block_bytes_ - 1) / block_bytes_,
                       last / block_bytes_};
    if (!offsets.empty() && !blocks.empty()) finished_blocks_.insert(blocks);
}

}  // namespace lambda::transfer
