// What of a file is not sent: its blocks count as finished from the start, so that those that come
// leave no gaps.
#include "common/transfer/sink.h"

namespace lambda::transfer {

std::vector<Range> Sink::holes_of(const FileRecord& record) {
    std::vector<Range> holes;
    std::uint64_t at = 0;
    for (const Range& range : record.data) {
        if (at < range.first) holes.push_back({at, range.first});
        at = range.last;
    }
    if (at < record.size) holes.push_back({at, record.size});
    return holes;
}

void Sink::finish_holes(const FileRecord& record, const std::vector<Range>& holes) {
    if (record.data.empty()) return;
    for (const Range& hole : holes) finish_blocks_of(record, hole);
}

// Those that lie in a range wholly; the last block of a large file has nothing else in it.
void Sink::finish_blocks_of(const FileRecord& record, Range offsets) {
    const std::uint64_t last =
        offsets.last == record.size ? behind(record) : record.place + offsets.last;
    const Range blocks{(record.place + offsets.first + block_bytes_ - 1) / block_bytes_,
                       last / block_bytes_};
    if (!blocks.empty()) finished_blocks_.insert(blocks);
}

}  // namespace lambda::transfer
