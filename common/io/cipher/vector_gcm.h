// AES-128-GCM (NIST SP 800-38D) by Intel's Multi-Buffer Crypto library, where the build has it:
// code that uses a processor's wide AES and carry-less multiplications (VAES, AVX-512), which
// OpenSSL 3.0 has not, and that has no set-up for each message (docs/decisions/0011). The same
// interface as Aead's. A VectorGcm may be used by several threads, a Key by one.
#pragma once

#include <cstddef>
#include <memory>

#include "common/io/cipher/aead.h"

struct gcm_key_data;

namespace lambda::io {

class VectorGcm {
  public:
    // False where the library refuses this processor.
    bool usable() const;

    class Key {
      public:
        Key() = default;  // none, to be assigned to
        Key(const VectorGcm& gcm, ByteView key, Aead::Direction direction);

        // As of Aead::Key. A message has less than 64 GiB.
        [[nodiscard]] bool seal(const std::byte* nonce, ByteView associated, ByteView text,
                                ByteView trailer, std::byte* out, std::byte* tag);
        [[nodiscard]] bool open(const std::byte* nonce, ByteView associated, ByteView sealed,
                                const std::byte* tag, std::byte* out);

      private:
        struct Wipe {
            void operator()(gcm_key_data* key) const;
        };
        std::unique_ptr<gcm_key_data, Wipe> expanded_;
    };
};

}  // namespace lambda::io
