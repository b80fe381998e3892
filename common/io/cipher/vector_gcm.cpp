#include "common/io/cipher/vector_gcm.h"

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include <array>
#include <cstdint>

#include "common/base/assert.h"

namespace lambda::io {
namespace {

std::uint8_t* raw(std::byte* bytes) {
    return reinterpret_cast<std::uint8_t*>(bytes);
}
const std::uint8_t* raw(const std::byte* bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes);
}

// The table of functions for this processor, which the library chooses and tries with known
// answers; none where one was wrong. Only read, once it is made, and there as long as the process.
const IMB_MGR* functions() {
    static const IMB_MGR* const manager = [] {
        IMB_MGR* made = alloc_mb_mgr(0);
        if (made != nullptr) init_mb_mgr_auto(made, nullptr);
        if (made != nullptr && imb_get_errno(made) != 0) {
            free_mb_mgr(made);
            made = nullptr;
        }
        return made;
    }();
    return manager;
}

}  // namespace

bool VectorGcm::usable() const {
    return functions() != nullptr;
}

void VectorGcm::Key::Wipe::operator()(gcm_key_data* key) const {
    OPENSSL_cleanse(key, sizeof *key);
    delete key;
}

VectorGcm::Key::Key(const VectorGcm& gcm, ByteView key, Aead::Direction) {
    LAMBDA_ASSERT(gcm.usable() && key.size() == IMB_KEY_128_BYTES);
    expanded_.reset(new gcm_key_data);
    IMB_AES128_GCM_PRE(functions(), key.data(), expanded_.get());
}

bool VectorGcm::Key::seal(const std::byte* nonce, ByteView associated, ByteView text,
                          ByteView trailer, std::byte* out, std::byte* tag) {
    const IMB_MGR* const gcm = functions();
    gcm_context_data context;
    if (trailer.empty()) {
        IMB_AES128_GCM_ENC(gcm, expanded_.get(), &context, raw(out), raw(text.data()), text.size(),
                           raw(nonce), raw(associated.data()), associated.size(), raw(tag),
                           Aead::kTagBytes);
        return true;
    }
    IMB_AES128_GCM_INIT(gcm, expanded_.get(), &context, raw(nonce), raw(associated.data()),
                        associated.size());
    IMB_AES128_GCM_ENC_UPDATE(gcm, expanded_.get(), &context, raw(out), raw(text.data()),
                              text.size());
    IMB_AES128_GCM_ENC_UPDATE(gcm, expanded_.get(), &context, raw(out + text.size()),
                              raw(trailer.data()), trailer.size());
    IMB_AES128_GCM_ENC_FINALIZE(gcm, expanded_.get(), &context, raw(tag), Aead::kTagBytes);
    return true;
}

bool VectorGcm::Key::open(const std::byte* nonce, ByteView associated, ByteView sealed,
                          const std::byte* tag, std::byte* out) {
    gcm_context_data context;
    std::array<std::byte, Aead::kTagBytes> right;
    IMB_AES128_GCM_DEC(functions(), expanded_.get(), &context, raw(out), raw(sealed.data()),
                       sealed.size(), raw(nonce), raw(associated.data()), associated.size(),
                       raw(right.data()), right.size());
    return CRYPTO_memcmp(right.data(), tag, right.size()) == 0;
}

}  // namespace lambda::io
