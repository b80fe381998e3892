// What the keys of a transfer come from beside the control session's TLS (docs/protocol.md §5).
// Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "common/session/terms.h"

namespace lambda::session {

constexpr const char* kExporterLabel = "EXPORTER-lambda-ftp-1";

// The exporter's context. `client`: the nonce of the offer that was agreed to.
std::vector<std::byte> key_context(const Agreement& agreement, const Nonce& client);

}  // namespace lambda::session
