#include "common/io/cipher/aead.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <array>
#include <new>
#include <string>
#include <string_view>

#include "common/base/assert.h"

namespace lambda::io {
namespace {

unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

// Among names with colons between them.
bool is_named(std::string_view names, const EVP_CIPHER* cipher) {
    while (!names.empty()) {
        const std::size_t end = names.find(':');
        if (EVP_CIPHER_is_a(cipher, std::string(names.substr(0, end)).c_str()) == 1) return true;
        names.remove_prefix(end == names.npos ? names.size() : end + 1);
    }
    return false;
}

}  // namespace

Aead::Aead(const char* name) : cipher_(EVP_CIPHER_fetch(nullptr, name, nullptr)) {
    if (cipher_ == nullptr) return;
    const OSSL_PROVIDER* const provider = EVP_CIPHER_get0_provider(cipher_);
    int no_cache = 0;
    const OSSL_ALGORITHM* const all =
        OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &no_cache);
    const OSSL_ALGORITHM* ours = all;
    while (ours != nullptr && ours->algorithm_names != nullptr &&
           !is_named(ours->algorithm_names, cipher_)) {
        ++ours;
    }
    const bool found = ours != nullptr && ours->algorithm_names != nullptr;
    if (found) take_functions(ours->implementation);
    OSSL_PROVIDER_unquery_operation(provider, OSSL_OP_CIPHER, all);
}

void Aead::take_functions(const OSSL_DISPATCH* entry) {
    for (; entry->function_id != 0; ++entry) {
        const auto is = [entry](int function) { return entry->function_id == function; };
        if (is(OSSL_FUNC_CIPHER_NEWCTX)) new_ = OSSL_FUNC_cipher_newctx(entry);
        if (is(OSSL_FUNC_CIPHER_FREECTX)) free_ = OSSL_FUNC_cipher_freectx(entry);
        if (is(OSSL_FUNC_CIPHER_ENCRYPT_INIT))
            start_sealing_ = OSSL_FUNC_cipher_encrypt_init(entry);
        if (is(OSSL_FUNC_CIPHER_DECRYPT_INIT))
            start_opening_ = OSSL_FUNC_cipher_decrypt_init(entry);
        if (is(OSSL_FUNC_CIPHER_UPDATE)) update_ = OSSL_FUNC_cipher_update(entry);
        if (is(OSSL_FUNC_CIPHER_FINAL)) final_ = OSSL_FUNC_cipher_final(entry);
        if (is(OSSL_FUNC_CIPHER_GET_CTX_PARAMS)) get_ = OSSL_FUNC_cipher_get_ctx_params(entry);
        if (is(OSSL_FUNC_CIPHER_SET_CTX_PARAMS)) set_ = OSSL_FUNC_cipher_set_ctx_params(entry);
    }
    usable_ = new_ != nullptr && free_ != nullptr && start_sealing_ != nullptr &&
              start_opening_ != nullptr && update_ != nullptr && final_ != nullptr &&
              get_ != nullptr && set_ != nullptr;
}

Aead::~Aead() {
    EVP_CIPHER_free(cipher_);
}

void* Aead::new_context() const {
    return new_(OSSL_PROVIDER_get0_provider_ctx(EVP_CIPHER_get0_provider(cipher_)));
}

Aead::Key::Key(Aead& aead, ByteView key, Direction direction)
    : aead_(&aead), context_(aead.new_context(), Free{aead.free_}) {
    auto* const start = direction == Direction::seal ? aead.start_sealing_ : aead.start_opening_;
    if (context_ == nullptr) throw std::bad_alloc();
    LAMBDA_ASSERT(start(context_.get(), raw(key.data()), key.size(), nullptr, 0, nullptr) == 1);
}

bool Aead::Key::seal(const std::byte* nonce, ByteView associated, ByteView text, ByteView trailer,
                     std::byte* out, std::byte* tag) {
    std::array<OSSL_PARAM, 2> asked{
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, kTagBytes),
        OSSL_PARAM_construct_end()};
    return start(aead_->start_sealing_, nonce, associated) && update(out, text) &&
           update(out + text.size(), trailer) && finish() &&
           aead_->get_(context_.get(), asked.data()) == 1;
}

bool Aead::Key::open(const std::byte* nonce, ByteView associated, ByteView sealed,
                     const std::byte* tag, std::byte* out) {
    // What OpenSSL only reads it takes by a pointer to what is not const.
    const std::array<OSSL_PARAM, 2> expected{
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, const_cast<std::byte*>(tag),
                                          kTagBytes),
        OSSL_PARAM_construct_end()};
    return start(aead_->start_opening_, nonce, associated) && update(out, sealed) &&
           aead_->set_(context_.get(), expected.data()) == 1 && finish();
}

// The two directions' functions have one type.
bool Aead::Key::start(OSSL_FUNC_cipher_encrypt_init_fn* function, const std::byte* nonce,
                      ByteView associated) {
    return function(context_.get(), nullptr, 0, raw(nonce), kNonceBytes, nullptr) == 1 &&
           update(nullptr, associated);
}

bool Aead::Key::update(std::byte* out, ByteView in) {
    std::size_t written = 0;
    return in.empty() || aead_->update_(context_.get(), raw(out), &written, in.size(),
                                        raw(in.data()), in.size()) == 1;
}

bool Aead::Key::finish() {
    std::array<unsigned char, 16> none;
    std::size_t written = 0;
    return aead_->final_(context_.get(), none.data(), &written, none.size()) == 1;
}

}  // namespace lambda::io
