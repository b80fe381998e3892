// AES-128-GCM and ChaCha20-Poly1305 (RFC 5116) from OpenSSL's provider, called by the provider's
// own table of functions (provider-cipher(7)). EVP, in front of it, asks the cipher by names for
// the nonce's length with each nonce and translates each tag: 0.35 us of the 1.2 us that a packet
// of 1,440 bytes took (docs/decisions/0010). Not for two threads at once.
#pragma once

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/evp.h>

#include <cstddef>
#include <memory>

#include "common/base/cursor.h"

namespace lambda::io {

class Aead {
  public:
    static constexpr std::size_t kNonceBytes = 12;
    static constexpr std::size_t kTagBytes = 16;
    enum class Direction { open, seal };

    // By OpenSSL's name. Not usable() where no provider here has it.
    explicit Aead(const char* name);
    Aead(const Aead&) = delete;
    Aead& operator=(const Aead&) = delete;
    ~Aead();

    bool usable() const { return usable_; }

    // One key in one direction; made by an Aead that is usable and outlives it.
    class Key {
      public:
        Key() = default;  // none, to be assigned to
        Key(Aead& aead, ByteView key, Direction direction);

        // `text`, and `trailer` behind it, go to `out`, of the same size; `associated` is in the
        // tag alone. False: OpenSSL refused, for a message that is too long.
        [[nodiscard]] bool seal(const std::byte* nonce, ByteView associated, ByteView text,
                                ByteView trailer, std::byte* out, std::byte* tag);
        // False: it is not what was sealed, and what `out` points at is undefined.
        [[nodiscard]] bool open(const std::byte* nonce, ByteView associated, ByteView sealed,
                                const std::byte* tag, std::byte* out);

      private:
        struct Free {
            OSSL_FUNC_cipher_freectx_fn* function;
            void operator()(void* context) const { function(context); }
        };
        bool start(OSSL_FUNC_cipher_encrypt_init_fn* function, const std::byte* nonce,
                   ByteView associated);
        bool update(std::byte* out, ByteView in);
        bool finish();

        const Aead* aead_ = nullptr;
        std::unique_ptr<void, Free> context_{nullptr, Free{nullptr}};
    };

  private:
    void take_functions(const OSSL_DISPATCH* entry);
    void* new_context() const;

    EVP_CIPHER* cipher_ = nullptr;  // keeps the provider
    bool usable_ = false;
    OSSL_FUNC_cipher_newctx_fn* new_ = nullptr;
    OSSL_FUNC_cipher_freectx_fn* free_ = nullptr;
    OSSL_FUNC_cipher_encrypt_init_fn* start_sealing_ = nullptr;
    OSSL_FUNC_cipher_decrypt_init_fn* start_opening_ = nullptr;
    OSSL_FUNC_cipher_update_fn* update_ = nullptr;
    OSSL_FUNC_cipher_final_fn* final_ = nullptr;
    OSSL_FUNC_cipher_get_ctx_params_fn* get_ = nullptr;
    OSSL_FUNC_cipher_set_ctx_params_fn* set_ = nullptr;
};

}  // namespace lambda::io
