#include "common/io/cipher/random.h"

#include <openssl/rand.h>

#include "common/base/assert.h"

namespace lambda::io {

void fill_random(ByteSpan out) {
    LAMBDA_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()),
                             static_cast<int>(out.size())) == 1);
}

}  // namespace lambda::io
