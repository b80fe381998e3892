#include "common/receipt/base64.h"

#include <openssl/evp.h>

namespace lambda::receipt {

std::string to_base64(ByteView bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // it writes a NUL behind
    const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(bytes.data()),
                                       static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::vector<std::byte> bytes(text.size() / 4 * 3);
    if (!text.empty() && EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                         reinterpret_cast<const unsigned char*>(text.data()),
                                         static_cast<int>(text.size())) < 0) {
        return std::nullopt;
    }
    // It counts the padding as zeros.
    const std::ptrdiff_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.erase(bytes.end() - padding, bytes.end());
    if (to_base64(bytes) != text) return std::nullopt;
    return bytes;
}

}  // namespace lambda::receipt
