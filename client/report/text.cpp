#include "client/report/text.h"

#include "common/base/ascii.h"
#include "common/base/hex.h"
#include "common/base/utf8.h"

namespace lambda::client {
namespace {

// U+0080 to U+009F: control characters of terminals that take 8 bits.
bool is_c1_control(std::string_view sequence) {
    return sequence.size() == 2 && sequence[0] == '\xC2' &&
           static_cast<unsigned char>(sequence[1]) < 0xA0;
}

}  // namespace

std::string printable(std::string_view raw) {
    std::string shown;
    while (!raw.empty()) {
        const std::size_t length = utf8_length(raw);
        const std::string_view sequence = raw.substr(0, length == 0 ? 1 : length);
        if (sequence == "\n") {
            shown += "\\n";
        } else if (sequence == "\t") {
            shown += "\\t";
        } else if (length == 0 || is_control(sequence[0]) || is_c1_control(sequence)) {
            for (const char c : sequence) shown += "\\x" + hex_of(c);
        } else {
            shown += sequence;
        }
        raw.remove_prefix(sequence.size());
    }
    return shown;
}

}  // namespace lambda::client
