// The settings loaders: any bytes give settings or an error with its place, and nothing escapes
// from the YAML library.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/assert.h"
#include "config/client_settings.h"
#include "config/server_settings.h"
#include "config/yaml_document.h"

using namespace lambda;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto server = config::parse_server_settings(text, "f");
    if (server) {
        LAMBDA_ASSERT(!server->listen.empty() &&
                      server->data_ports.first <= server->data_ports.last);
        LAMBDA_ASSERT(server->transfer_memory <= server->memory);
    } else {
        LAMBDA_ASSERT(server.error().message.starts_with("f:"));
    }
    const auto client = config::parse_client_settings(text, "f");
    LAMBDA_ASSERT(client.ok() || client.error().message.starts_with("f:"));

#ifdef LAMBDA_FUZZ_PLANTED
    const auto entries = config::parse_document(text, "f");
    for (const auto& entry : entries ? *entries : std::vector<config::Entry>{}) {
        // The bug: a list of three is taken for one of four.
        const std::size_t count = entry.items.size() == 3 ? 4 : entry.items.size();
        for (std::size_t i = 0; i < count; ++i) {
            const volatile auto length = entry.items.data()[i].size();
            static_cast<void>(length);
        }
    }
#endif
    return 0;
}
