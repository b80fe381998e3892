#include "common/transfer/sha256.h"

#include <openssl/evp.h>

#include <new>

#include "common/base/assert.h"

namespace lambda::transfer {

Sha256 sha256(ByteView bytes) {
    Sha256State state;
    state.add(bytes);
    return state.finish();
}

void Sha256State::Free::operator()(evp_md_ctx_st* context) const {
    EVP_MD_CTX_free(context);
}

Sha256State::Sha256State() : context_(EVP_MD_CTX_new()) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
}

void Sha256State::add(ByteView bytes) {
    LAMBDA_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256State::finish() const {
    const std::unique_ptr<evp_md_ctx_st, Free> copy(EVP_MD_CTX_new());
    if (copy == nullptr || EVP_MD_CTX_copy_ex(copy.get(), context_.get()) != 1)
        throw std::bad_alloc();
    Sha256 digest;
    LAMBDA_ASSERT(EVP_DigestFinal_ex(copy.get(), reinterpret_cast<unsigned char*>(digest.data()),
                                     nullptr) == 1);
    return digest;
}

}  // namespace lambda::transfer
