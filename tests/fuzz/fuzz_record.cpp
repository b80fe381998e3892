// The set stream: any bytes, in any pieces, give records within their bounds that survive being
// written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/base/assert.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/set_stream.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

void check(const Record& record) {
    if (const auto* file = std::get_if<FileRecord>(&record)) {
        LAMBDA_ASSERT(acceptable_name(file->name));
        std::uint64_t end = 0;
        for (const Range& range : file->data) {
            LAMBDA_ASSERT(range.first >= end && range.first < range.last &&
                          range.last <= file->size);
            end = range.last;
        }
#ifdef LAMBDA_FUZZ_PLANTED
        // The bug: a file from before 1970.
        LAMBDA_ASSERT(file->mtime_ns >= 0);
#endif
    }
    std::vector<std::byte> once, twice;
    append_record(once, record);
    RecordReader reader;
    reader.put(once);
    const auto again = reader.next();
    LAMBDA_ASSERT(again.has_value() && again->index() == record.index());
    append_record(twice, *again);
    LAMBDA_ASSERT(once == twice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    StreamReceiver receiver;
    const ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));
    const std::size_t step = data[0] + 1u;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        // Each piece comes with some of what was there before, as after a new connection.
        const std::size_t back = std::min<std::size_t>(at, data[0] % 5);
        receiver.handle_piece(
            {at - back, bytes.subspan(at - back, std::min(step + back, bytes.size() - at + back))});
        while (const auto record = receiver.next()) check(*record);
    }
    LAMBDA_ASSERT(receiver.consumed() <= bytes.size());
    return 0;
}
