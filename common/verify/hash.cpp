#include "common/verify/hash.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>

#include "common/base/ascii.h"
#include "common/base/assert.h"
#include "common/base/hex.h"

namespace lambda::verify {
namespace {

const unsigned char* octets(ByteView bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

class TransferHash final : public Hash {
  public:
    explicit TransferHash(std::uint64_t size) : digest_(size) {}
    Part prepare(ByteView piece) const override {
        const transfer::Digest leaf = transfer::leaf_digest(piece);
        Part part{};
        std::copy(leaf.begin(), leaf.end(), part.begin());
        return part;
    }
    void add(const Part& part, ByteView piece) override {
        transfer::Digest leaf;
        std::copy_n(part.begin(), leaf.size(), leaf.begin());
        digest_.add_leaf(at_, leaf);
        at_ += piece.size();
    }
    std::string finish() override { return to_hex(digest_.finish()); }

  private:
    transfer::FileDigest digest_;
    std::uint64_t at_ = 0;
};

class TreeHash final : public Hash {
  public:
    explicit TreeHash(std::uint64_t size) : digest_(size, true) {}
    Part prepare(ByteView piece) const override { return transfer::sha256(piece); }
    void add(const Part& part, ByteView piece) override {
        digest_.add_leaf(at_, {}, &part);
        at_ += piece.size();
    }
    std::string finish() override { return to_hex(digest_.finish_strong()); }

  private:
    transfer::FileDigest digest_;
    std::uint64_t at_ = 0;
};

class AdlerHash final : public Hash {
  public:
    Part prepare(ByteView piece) const override {
        Part part{};
        store_u32(part.data(),
                  static_cast<std::uint32_t>(::adler32_z(kEmpty, octets(piece), piece.size())));
        return part;
    }
    void add(const Part& part, ByteView piece) override {
        sum_ = ::adler32_combine(sum_, load_u32(part.data()), static_cast<z_off_t>(piece.size()));
    }
    std::string finish() override {
        std::array<std::byte, 4> bytes{};
        store_u32(bytes.data(), static_cast<std::uint32_t>(sum_));
        return to_hex(bytes);
    }

  private:
    static constexpr uLong kEmpty = 1;  // of no bytes
    uLong sum_ = kEmpty;
};

class SerialHash final : public Hash {
  public:
    static Result<std::unique_ptr<Hash>> make(Algorithm algorithm, const EVP_MD* method) {
        auto hash = std::make_unique<SerialHash>();
        hash->context_.reset(EVP_MD_CTX_new());
        if (hash->context_ != nullptr &&
            EVP_DigestInit_ex(hash->context_.get(), method, nullptr) == 1) {
            return std::unique_ptr<Hash>(std::move(hash));
        }
        return Error{.fault = Fault::unsupported,
                     .message = std::string("OpenSSL does not allow ") + to_string(algorithm),
                     .path = {},
                     .side = Side::local,
                     .remedy = "choose another of " + algorithm_names()};
    }
    Part prepare(ByteView) const override { return {}; }
    void add(const Part&, ByteView piece) override {
        LAMBDA_ASSERT(EVP_DigestUpdate(context_.get(), piece.data(), piece.size()) == 1);
    }
    std::string finish() override {
        std::array<std::byte, EVP_MAX_MD_SIZE> digest{};
        unsigned bytes = 0;
        LAMBDA_ASSERT(EVP_DigestFinal_ex(context_.get(),
                                         reinterpret_cast<unsigned char*>(digest.data()),
                                         &bytes) == 1);
        return to_hex(ByteView(digest).first(bytes));
    }

  private:
    struct Free {
        void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
    };
    std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace

const char* to_string(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::xxh3_128:
            return "xxh3-128";
        case Algorithm::md5:
            return "md5";
        case Algorithm::sha256:
            return "sha256";
        case Algorithm::sha256_tree:
            return "sha256-tree-1MiB";
        case Algorithm::adler32:
            return "adler32";
    }
    LAMBDA_ASSERT(false);
}

std::optional<Algorithm> parse_algorithm(std::string_view name) {
    const auto* const found = std::find_if(
        kAlgorithms.begin(), kAlgorithms.end(),
        [&](Algorithm algorithm) { return lower_case(name) == lower_case(to_string(algorithm)); });
    if (found == kAlgorithms.end()) return std::nullopt;
    return *found;
}

std::string algorithm_names() {
    std::string names;
    for (const Algorithm algorithm : kAlgorithms)
        names += (names.empty() ? "" : ",") + std::string(to_string(algorithm));
    return names;
}

std::size_t hex_digits(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::xxh3_128:
        case Algorithm::md5:
            return 32;
        case Algorithm::sha256:
        case Algorithm::sha256_tree:
            return 64;
        case Algorithm::adler32:
            return 8;
    }
    LAMBDA_ASSERT(false);
}

Result<std::unique_ptr<Hash>> Hash::make(Algorithm algorithm, std::uint64_t size) {
    switch (algorithm) {
        case Algorithm::xxh3_128:
            return std::unique_ptr<Hash>(std::make_unique<TransferHash>(size));
        case Algorithm::md5:
            return SerialHash::make(algorithm, EVP_md5());
        case Algorithm::sha256:
            return SerialHash::make(algorithm, EVP_sha256());
        case Algorithm::sha256_tree:
            return std::unique_ptr<Hash>(std::make_unique<TreeHash>(size));
        case Algorithm::adler32:
            return std::unique_ptr<Hash>(std::make_unique<AdlerHash>());
    }
    LAMBDA_ASSERT(false);
}

}  // namespace lambda::verify
