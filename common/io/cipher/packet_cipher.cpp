#include "common/io/cipher/packet_cipher.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string_view>

#include "common/base/time.h"
#include "common/base/xxh3.h"
#include "common/io/cipher/aead.h"
#include "common/io/clock.h"
#ifdef LAMBDA_VECTOR_GCM
#include "common/io/cipher/vector_gcm.h"
#endif

// docs/protocol.md §5.
namespace lambda::io {
namespace {

constexpr std::string_view kLabel = "lambda-ftp key";
constexpr unsigned kAgeShift = 22;
constexpr std::size_t kNonceBytes = Aead::kNonceBytes;
constexpr std::size_t kClearTagBytes = 8;
constexpr std::size_t kMostKeyBytes = 32;

// The numbers of CipherSpec, which are session::Protection's and session::Cipher's.
enum class Protection : std::uint8_t { encrypted = 0, authenticated = 1, checked = 2 };
enum class Cipher : std::uint8_t { aes_128_gcm = 0, chacha20_poly1305 = 1 };

std::size_t key_bytes(Cipher cipher) {
    return cipher == Cipher::aes_128_gcm ? 16 : 32;
}

// Where the bytes end in `to`.
std::byte* append(std::byte* to, ByteView bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return to + bytes.size();
}

struct FlowKey {
    std::array<std::byte, kMostKeyBytes> key{};
    std::array<std::byte, kNonceBytes> iv{};
};

// HKDF-Expand-SHA256 of the transfer's secret for one flow.
class KeySchedule {
  public:
    explicit KeySchedule(const CipherSpec& spec) : spec_(spec) {
        EVP_KDF* hkdf = EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr);
        context_ = hkdf != nullptr ? EVP_KDF_CTX_new(hkdf) : nullptr;
        EVP_KDF_free(hkdf);
    }
    KeySchedule(const KeySchedule&) = delete;
    KeySchedule& operator=(const KeySchedule&) = delete;
    ~KeySchedule() { EVP_KDF_CTX_free(context_); }

    bool usable() const { return context_ != nullptr; }

    FlowKey derive(std::uint64_t age) const {
        std::array<std::byte, kLabel.size() + 2 + 1 + 1 + 1 + 8> info;
        std::memcpy(info.data(), kLabel.data(), kLabel.size());
        std::byte* rest = info.data() + kLabel.size();
        store_u16(rest, spec_.stripe);
        rest[2] = static_cast<std::byte>(spec_.direction);
        rest[3] = static_cast<std::byte>(spec_.cipher);
        rest[4] = static_cast<std::byte>(spec_.protection);
        store_u64(rest + 5, age);

        int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
        auto secret = spec_.secret;
        char digest[] = "SHA256";
        const OSSL_PARAM parameters[] = {
            OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
            OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
            OSSL_PARAM_construct_end()};
        std::array<unsigned char, kMostKeyBytes + kNonceBytes> out;
        const std::size_t length = key_bytes(static_cast<Cipher>(spec_.cipher));
        LAMBDA_ASSERT(EVP_KDF_derive(context_, out.data(), length + kNonceBytes, parameters) == 1);
        FlowKey key;
        std::memcpy(key.key.data(), out.data(), length);
        std::memcpy(key.iv.data(), out.data() + length, kNonceBytes);
        return key;
    }

  private:
    const CipherSpec spec_;
    EVP_KDF_CTX* context_ = nullptr;
};

// The keys of the ages in use. Numbers may arrive from the age before and, within the window that a
// receiver accepts, from the one after: consecutive ages never share a place, so that packets
// around a boundary derive each key once.
template <typename Key>
class KeyRing {
  public:
    template <typename Install>
    Key& at(std::uint64_t age, const KeySchedule& schedule, Install install) {
        Place& place = places_[age % places_.size()];
        if (!place.used || place.age != age) {
            install(place.key, schedule.derive(age));
            place.age = age;
            place.used = true;
        }
        return place.key;
    }

  private:
    struct Place {
        Key key{};
        std::uint64_t age = 0;
        bool used = false;
    };
    std::array<Place, 4> places_{};
};

// private and safe, by Aead or by what looks like it. The directions have keys of their own:
// OpenSSL keeps the direction with the key.
template <typename Kind>
class AeadCipher final : public ports::PacketCipher {
  public:
    template <typename... Name>
    explicit AeadCipher(const CipherSpec& spec, Name... name)
        : schedule_(spec),
          encrypt_(static_cast<Protection>(spec.protection) == Protection::encrypted),
          key_bytes_(key_bytes(static_cast<Cipher>(spec.cipher))),
          kind_(name...) {}

    bool usable() const { return schedule_.usable() && kind_.usable(); }
    std::size_t tag_bytes() const override { return Aead::kTagBytes; }

    void seal(std::span<const ports::SealJob> jobs) override {
        for (const ports::SealJob& job : jobs) seal_one(job);
    }
    void open(std::span<ports::OpenJob> jobs) override {
        for (ports::OpenJob& job : jobs) job.ok = open_one(job);
    }

  private:
    using Nonce = std::array<std::byte, kNonceBytes>;
    struct Keyed {
        typename Kind::Key key{};
        Nonce iv{};

        Nonce nonce(std::uint64_t number) const {
            Nonce nonce = iv;
            std::byte* tail = nonce.data() + nonce.size() - 8;
            store_u64(tail, load_u64(tail) ^ number);
            return nonce;
        }
    };

    Keyed& keyed(std::uint64_t number, Aead::Direction direction) {
        return rings_[static_cast<std::size_t>(direction)].at(
            number >> kAgeShift, schedule_,
            [this, direction](Keyed& fresh, const FlowKey& derived) {
                fresh.iv = derived.iv;
                fresh.key =
                    typename Kind::Key(kind_, ByteView(derived.key).first(key_bytes_), direction);
            });
    }

    void seal_one(const ports::SealJob& job) {
        Keyed& by = keyed(job.number, Aead::Direction::seal);
        const auto nonce = by.nonce(job.number);
        LAMBDA_ASSERT(!job.apart);
        std::byte* text = job.packet + ports::kHeaderBytes;
        std::byte* tag = text + job.text.size() + job.trailer.size();
        if (encrypt_) {
            LAMBDA_ASSERT(by.key.seal(nonce.data(), ByteView(job.packet, ports::kHeaderBytes),
                                      job.text, job.trailer, text, tag));
        } else {
            append(append(text, job.text), job.trailer);
            LAMBDA_ASSERT(by.key.seal(nonce.data(), ByteView(job.packet, tag), {}, {}, tag, tag));
        }
    }

    bool open_one(const ports::OpenJob& job) {
        constexpr std::size_t kLeast = ports::kHeaderBytes + Aead::kTagBytes;
        if (job.packet.size() < kLeast) return false;
        Keyed& by = keyed(job.number, Aead::Direction::open);
        const auto nonce = by.nonce(job.number);
        const ByteView text = job.packet.subspan(ports::kHeaderBytes, job.packet.size() - kLeast);
        const ByteView associated =
            job.packet.first(ports::kHeaderBytes + (encrypt_ ? 0 : text.size()));
        const bool ok = by.key.open(nonce.data(), associated, encrypt_ ? text : ByteView(),
                                    text.data() + text.size(), job.text);
        if (ok && !encrypt_) append(job.text, text);
        return ok;
    }

    const KeySchedule schedule_;
    const bool encrypt_;
    const std::size_t key_bytes_;
    Kind kind_;
    std::array<KeyRing<Keyed>, 2> rings_;  // by Direction
};

// clear: a keyed checksum, of the header alone where the text is left to its leaf's digest.
class ClearCipher final : public ports::PacketCipher {
  public:
    explicit ClearCipher(const CipherSpec& spec) : schedule_(spec), state_(XXH3_createState()) {}
    ClearCipher(const ClearCipher&) = delete;
    ClearCipher& operator=(const ClearCipher&) = delete;
    ~ClearCipher() override { XXH3_freeState(state_); }

    bool usable() const { return schedule_.usable() && state_ != nullptr; }
    std::size_t tag_bytes() const override { return kClearTagBytes; }
    bool leaves_text() const override { return true; }

    void seal(std::span<const ports::SealJob> jobs) override {
        for (const ports::SealJob& job : jobs) {
            const ByteView header(job.packet, ports::kHeaderBytes);
            std::byte* rest = job.packet + ports::kHeaderBytes;
            if (!job.apart) rest = append(rest, job.text);
            store_u64(append(rest, job.trailer),
                      job.bare ? sum(job.number, {header})
                               : sum(job.number, {header, job.text, job.trailer}));
        }
    }

    void open(std::span<ports::OpenJob> jobs) override {
        for (ports::OpenJob& job : jobs) {
            job.ok = false;
            if (job.packet.size() < ports::kHeaderBytes + kClearTagBytes) continue;
            const ByteView whole = job.packet.first(job.packet.size() - kClearTagBytes);
            const ByteView covered = job.bare ? whole.first(ports::kHeaderBytes) : whole;
            if (load_u64(whole.data() + whole.size()) != sum(job.number, {covered})) continue;
            job.ok = true;
            if (job.apart == 0) append(job.text, whole.subspan(ports::kHeaderBytes));
        }
    }

  private:
    std::uint64_t seed(std::uint64_t number) {
        return seeds_.at(number >> kAgeShift, schedule_,
                         [](std::uint64_t& fresh, const FlowKey& derived) {
                             fresh = load_u64(derived.key.data());
                         });
    }

    std::uint64_t sum(std::uint64_t number, std::initializer_list<ByteView> covered) {
        std::array<std::byte, 8> counted;
        store_u64(counted.data(), number);
        XXH3_64bits_reset_withSeed(state_, seed(number));
        for (const ByteView part : covered) XXH3_64bits_update(state_, part.data(), part.size());
        XXH3_64bits_update(state_, counted.data(), counted.size());
        return XXH3_64bits_digest(state_);
    }

    const KeySchedule schedule_;
    XXH3_state_t* state_;
    KeyRing<std::uint64_t> seeds_;
};

template <typename Kind>
Result<std::unique_ptr<ports::PacketCipher>> checked(std::unique_ptr<Kind> cipher) {
    if (!cipher->usable()) {
        return Error{.fault = Fault::unsupported,
                     .message = "OpenSSL here does not have the cipher of this transfer",
                     .path = {},
                     .side = Side::local,
                     .remedy = {}};
    }
    return std::unique_ptr<ports::PacketCipher>(std::move(cipher));
}

Result<std::unique_ptr<ports::PacketCipher>> make_aes_128_gcm(const CipherSpec& spec) {
#ifdef LAMBDA_VECTOR_GCM
    auto vectors = std::make_unique<AeadCipher<VectorGcm>>(spec);
    if (vectors->usable()) return std::unique_ptr<ports::PacketCipher>(std::move(vectors));
#endif
    return checked(std::make_unique<AeadCipher<Aead>>(spec, "AES-128-GCM"));
}

Result<std::unique_ptr<ports::PacketCipher>> make_aead(const CipherSpec& spec) {
    if (static_cast<Cipher>(spec.cipher) == Cipher::aes_128_gcm) return make_aes_128_gcm(spec);
    return checked(std::make_unique<AeadCipher<Aead>>(spec, "ChaCha20-Poly1305"));
}

// The best of a few rounds of sealing 64 KiB: the first ones meet a cold cache.
Duration time_to_seal(Cipher cipher) {
    CipherSpec spec;
    spec.cipher = static_cast<std::uint8_t>(cipher);
    const auto sealer = make_aead(spec);
    if (!sealer) return Duration::max();
    constexpr std::size_t text_bytes = 8192;
    constexpr std::uint64_t packets = 8;
    std::array<std::byte, text_bytes> text{};
    std::array<std::byte, ports::kHeaderBytes + text_bytes + Aead::kTagBytes> packet{};
    Duration best = Duration::max();
    Clock clock;
    for (std::uint64_t round = 0; round < 4; ++round) {
        const Time before = clock.now();
        for (std::uint64_t i = 0; i < packets; ++i) {
            const ports::SealJob job{round * packets + i, packet.data(), text, {}, false};
            (*sealer)->seal({&job, 1});
        }
        best = std::min(best, clock.now() - before);
    }
    return best;
}

}  // namespace

Result<std::unique_ptr<ports::PacketCipher>> make_packet_cipher(const CipherSpec& spec) {
    LAMBDA_ASSERT(spec.protection <= static_cast<std::uint8_t>(Protection::checked));
    LAMBDA_ASSERT(spec.cipher <= static_cast<std::uint8_t>(Cipher::chacha20_poly1305));
    if (static_cast<Protection>(spec.protection) == Protection::checked) {
        return checked(std::make_unique<ClearCipher>(spec));
    }
    return make_aead(spec);
}

std::uint8_t fastest_cipher() {
    static const Cipher fastest =
        time_to_seal(Cipher::aes_128_gcm) <= time_to_seal(Cipher::chacha20_poly1305)
            ? Cipher::aes_128_gcm
            : Cipher::chacha20_poly1305;
    return static_cast<std::uint8_t>(fastest);
}

}  // namespace lambda::io
