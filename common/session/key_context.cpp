#include "common/session/key_context.h"

#include "common/base/cursor.h"

namespace lambda::session {

std::vector<std::byte> key_context(const Agreement& agreement, const Nonce& client) {
    std::vector<std::byte> context;
    ByteWriter writer(context);
    writer.u64(agreement.transfer);
    writer.bytes(client);
    writer.bytes(agreement.nonce);
    return context;
}

}  // namespace lambda::session
