#include "common/transfer/extended_limit.h"

#include "common/transfer/record.h"

namespace lambda::transfer {

std::size_t extended_bytes(const std::optional<ports::Archived>& archived) {
    std::size_t bytes = 0;
    if (archived) {
        for (const auto& [name, value] : archived->extended) bytes += name.size() + value.size();
    }
    return bytes;
}

std::size_t extended_in_hand(const std::optional<ports::Archived>& archived) {
    constexpr std::size_t kOverhead = 64;
    return archived ? extended_bytes(archived) + kOverhead * archived->extended.size() : 0;
}

std::optional<Error> too_much_extended(const std::optional<ports::Archived>& archived,
                                       const std::string& path) {
    const bool fits = !archived || (archived->extended.size() <= kMaxExtended &&
                                    extended_bytes(archived) <= kMaxExtendedBytes);
    if (fits) return std::nullopt;
    return Error{.fault = Fault::file,
                 .message = "it has more than 1024 extended attributes, or 192 KiB of them",
                 .path = path,
                 .side = Side::local,
                 .remedy = "send it without --archive"};
}

}  // namespace lambda::transfer
