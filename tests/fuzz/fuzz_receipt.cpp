// Reading a receipt: any bytes are refused with a reason, and no line is taken that is not spelt to
// the byte as it would be written.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "client/receipt/receipt_reader.h"
#include "common/base/assert.h"
#include "common/io/tls/signature.h"
#include "common/receipt/lines.h"
#include "common/session/sign.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"

using namespace lambda;

namespace {

void check(std::string_view text) {
    const auto line = receipt::parse_line(text);
    if (!line) return;
    const std::string again =
        std::visit([](const auto& each) { return receipt::to_line(each); }, *line);
    LAMBDA_ASSERT(again == text);
#ifdef LAMBDA_FUZZ_PLANTED
    // The bug: a file that nobody read.
    if (const auto* file = std::get_if<receipt::FileLine>(&*line)) LAMBDA_ASSERT(!file->adopted);
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        check(std::string_view(text).substr(at, end - at));
        at = end + 1;
    }
    if (const auto request = session::parse_sign(text)) {
        const auto again = session::parse_sign(session::format_sign(*request));
        LAMBDA_ASSERT(again.ok() && again->server == request->server);
    }
    auto reader = client::ReceiptReader::open(std::make_unique<std::istringstream>(text), "r");
    if (!reader) {
        LAMBDA_ASSERT(reader.error().fault == Fault::usage ||
                      reader.error().fault == Fault::integrity);
        return 0;
    }
    for (auto line = reader->next(); line && *line; line = reader->next()) {
        LAMBDA_ASSERT(transfer::acceptable_name((*line)->path));
    }
    return 0;
}
