#include "common/session/terms.h"

#include <algorithm>
#include <cmath>

#include "common/base/ascii.h"
#include "common/base/hex.h"
#include "common/session/facts.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 2> kDirections{"put", "get"};
constexpr std::array<std::string_view, 3> kProtections{"private", "safe", "clear"};
constexpr std::array<std::string_view, 2> kCiphers{"aes-128-gcm", "chacha20-poly1305"};
constexpr std::array<std::string_view, 2> kVerify{"transfer", "readback"};
constexpr std::array<std::string_view, 2> kDigest{"xxh3", "sha256"};
constexpr std::array<std::string_view, 2> kInto{"file", "directory"};

constexpr std::uint64_t kMaxBytes = 1ull << 40;
constexpr std::uint64_t kBlockGrain = MiB;
constexpr std::uint64_t kMaxBlock = 16 * MiB;
constexpr std::size_t kMaxPath = 4096;  // Linux PATH_MAX
constexpr std::size_t kMaxLawName = 32;
constexpr std::size_t kMaxLaw = 256;  // with its parameters

std::uint64_t whole_bits(BitRate rate) {
    return static_cast<std::uint64_t>(std::llround(rate.bits_per_second));
}

std::string_view law_name(std::string_view law) {
    return law.substr(0, law.find(':'));
}

std::string read_law(FactReader& reader) {
    const std::string text = reader.word("congestion");
    const std::size_t name = law_name(text).size();
    std::string law = lower_case(text.substr(0, name)) + text.substr(name);
    if (!is_law(law)) reader.refuse("congestion", "a law's name, perhaps with parameters");
    return law;
}

Terms read_terms(FactReader& reader) {
    Terms terms;
    terms.direction = static_cast<Direction>(reader.choice("direction", kDirections));
    terms.stripes = static_cast<std::uint16_t>(reader.number("stripes", 1, kMaxStripes));
    terms.payload = static_cast<std::uint32_t>(reader.number("payload", kMinPayload, kMaxPayload));
    const auto microseconds = [](Duration span) {
        return static_cast<std::uint64_t>(span / std::chrono::microseconds(1));
    };
    terms.syn = std::chrono::microseconds(
        reader.number("syn", microseconds(kLeastSyn), microseconds(kLongestSyn)));
    terms.initial_rate = BitRate{static_cast<double>(reader.number("initial", 1, kMaxRate))};
    terms.highest_rate = BitRate{static_cast<double>(reader.number("highest", 0, kMaxRate))};
    terms.known_rate = BitRate{static_cast<double>(reader.number_or("known", 0, kMaxRate, 0))};
    terms.window = reader.number("window", 0, kMaxBytes);
    terms.block = static_cast<std::uint32_t>(reader.number("block", kBlockGrain, kMaxBlock));
    if (terms.block % kBlockGrain != 0) reader.refuse("block", "a multiple of 1048576");
    terms.memory = reader.number("memory", kMinMemory, kMaxBytes);
    terms.protection = static_cast<Protection>(reader.choice("protection", kProtections));
    terms.cipher = static_cast<Cipher>(reader.choice("cipher", kCiphers));
    terms.congestion = read_law(reader);
    terms.read_back = reader.choice_or("verify", kVerify, 0) == 1;
    terms.receipt = reader.flag("receipt", false);
    terms.sha256 = reader.choice_or("digest", kDigest, 0) == 1;
    return terms;
}

std::vector<std::uint16_t> read_ports(FactReader& reader) {
    std::vector<std::uint16_t> ports;
    std::string text = reader.word("ports");
    for (std::string_view left = text; !left.empty();) {
        const std::size_t comma = left.find(',');
        const std::optional<std::uint64_t> port = parse_number(left.substr(0, comma));
        const bool more = comma != std::string_view::npos;
        left = more ? left.substr(comma + 1) : std::string_view();
        const bool good = port && *port >= 1 && *port <= 65535 && ports.size() < kMaxStripes &&
                          !(more && left.empty());
        if (!good) {
            reader.refuse("ports", "1 to 64 ports, comma-separated");
            return {};
        }
        ports.push_back(static_cast<std::uint16_t>(*port));
    }
    return ports;
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

Error unsupported(std::string message, std::string remedy) {
    Error error = usage_error(std::move(message), std::move(remedy));
    error.fault = Fault::unsupported;
    return error;
}

}  // namespace

const char* to_string(Direction direction) {
    return kDirections[static_cast<std::size_t>(direction)].data();
}
const char* to_string(Protection protection) {
    return kProtections[static_cast<std::size_t>(protection)].data();
}
const char* to_string(Cipher cipher) {
    return kCiphers[static_cast<std::size_t>(cipher)].data();
}

bool is_law(std::string_view text) {
    const auto is_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    const auto is_parameter = [&](char c) {
        return is_name(c) || (c >= 'A' && c <= 'Z') ||
               std::string_view("=,.+/").find(c) != std::string_view::npos;
    };
    const std::string_view name = law_name(text);
    const std::string_view parameters = text.substr(std::min(text.size(), name.size() + 1));
    const bool named = !name.empty() && name.size() <= kMaxLawName &&
                       std::all_of(name.begin(), name.end(), is_name);
    return named && text.size() <= kMaxLaw && (name.size() == text.size() || !parameters.empty()) &&
           std::all_of(parameters.begin(), parameters.end(), is_parameter);
}

void add_terms(Facts& facts, const Terms& terms) {
    facts.add("direction", to_string(terms.direction))
        .add("stripes", terms.stripes)
        .add("payload", terms.payload)
        .add("syn", static_cast<std::uint64_t>(
                        std::chrono::duration_cast<std::chrono::microseconds>(terms.syn).count()))
        .add("initial", whole_bits(terms.initial_rate))
        .add("highest", whole_bits(terms.highest_rate))
        .add("window", terms.window)
        .add("block", terms.block)
        .add("memory", terms.memory)
        .add("protection", to_string(terms.protection))
        .add("cipher", to_string(terms.cipher))
        .add("congestion", terms.congestion);
    if (terms.known_rate.bits_per_second > 0) facts.add("known", whole_bits(terms.known_rate));
    if (terms.read_back) facts.add("verify", "readback");
    if (terms.receipt) facts.add("receipt", 1);
    if (terms.sha256) facts.add("digest", "sha256");
}

Result<Terms> parse_terms(const Facts& facts) {
    FactReader reader(facts);
    Terms terms = read_terms(reader);
    if (reader.error()) return *reader.error();
    return terms;
}

std::string format_offer(const Offer& offer) {
    Facts facts;
    add_terms(facts, offer.terms);
    facts.add("nonce", to_hex(offer.nonce));
    if (offer.several) facts.add("several", 1);
    if (!offer.replaces.empty()) facts.add("replaces", offer.replaces);
    if (offer.range) add_range(facts, *offer.range);
    return offer.path.empty() ? facts.text() : facts.text() + " " + offer.path;
}

Result<Offer> parse_offer(std::string_view argument) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    Offer offer;
    offer.terms = read_terms(reader);
    reader.hex("nonce", offer.nonce);
    offer.several = reader.flag("several", false);
    if (parsed->facts.find("replaces") != nullptr) {
        std::array<std::byte, 16> token{};
        reader.hex("replaces", token);
        offer.replaces = to_hex(token);
    }
    const bool put = offer.terms.direction == Direction::put;
    offer.range = read_range(parsed->facts, reader, put);
    if (reader.error()) return *reader.error();
    // What would be signed is no file that stands anywhere.
    if (offer.range && offer.terms.receipt)
        return usage_error("a receipt is of whole files", "move the range without one");
    offer.path = parsed->rest.value_or("");
    if (put && offer.path.empty()) return usage_error("XFER of a put needs the target's path");
    if (!put && !offer.path.empty()) return usage_error("XFER of a get takes no path");
    if (offer.path.size() > kMaxPath) return usage_error("the target's path is too long");
    if (offer.path.find('\0') != std::string::npos)
        return usage_error("the target's path holds a NUL");
    return offer;
}

std::string format_agreement(const Agreement& agreement) {
    Facts facts;
    add_terms(facts, agreement.terms);
    std::string ports;
    for (const std::uint16_t port : agreement.ports) {
        ports += (ports.empty() ? "" : ",") + std::to_string(port);
    }
    facts.add("nonce", to_hex(agreement.nonce))
        .add("transfer", agreement.transfer)
        .add("token", agreement.token)
        .add("ports", ports)
        .add("into", kInto[agreement.into_directory ? 1 : 0]);
    if (agreement.range) facts.add("range", 1);
    return facts.text();
}

Result<Agreement> parse_agreement(std::string_view text) {
    Result<ParsedFacts> parsed = Facts::parse(text);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    Agreement agreement;
    agreement.terms = read_terms(reader);
    reader.hex("nonce", agreement.nonce);
    agreement.transfer = reader.number("transfer", 0, UINT64_MAX);
    std::array<std::byte, 16> token{};
    reader.hex("token", token);
    agreement.token = to_hex(token);
    agreement.ports = read_ports(reader);
    agreement.into_directory = reader.choice("into", kInto) == 1;
    agreement.range = reader.flag("range", false);
    if (agreement.terms.memory / kMinRingBlocks < agreement.terms.block)
        reader.refuse("memory", "at least " + std::to_string(kMinRingBlocks) + " blocks");
    if (reader.error()) return *reader.error();
    return agreement;
}

Result<Terms> agree(const Terms& offered, const Limits& limits) {
    Terms terms = offered;
    const std::string law(law_name(terms.congestion));
    if (std::find(limits.laws.begin(), limits.laws.end(), law) == limits.laws.end()) {
        return unsupported("congestion law '" + law + "' is not known",
                           "choose one of " + join(limits.laws));
    }
    const bool refused = (terms.protection == Protection::safe && !limits.allow_safe) ||
                         (terms.protection == Protection::clear && !limits.allow_clear);
    if (refused) {
        return unsupported(
            "protection '" + std::string(to_string(terms.protection)) + "' is not allowed here",
            "use --protection private");
    }
    terms.stripes = std::min(terms.stripes, limits.stripes);
    terms.memory = std::max(kMinMemory, std::min(terms.memory, limits.memory));
    // A ring needs some blocks to have reads, flight and writes at once.
    const std::uint64_t whole = terms.memory / kMinRingBlocks / kBlockGrain * kBlockGrain;
    terms.block = static_cast<std::uint32_t>(std::min<std::uint64_t>(terms.block, whole));
    if (limits.highest_rate.bits_per_second > 0) {
        terms.highest_rate = terms.highest_rate.bits_per_second > 0
                                 ? std::min(terms.highest_rate, limits.highest_rate)
                                 : limits.highest_rate;
    }
    if (terms.highest_rate.bits_per_second > 0) {
        terms.initial_rate = std::min(terms.initial_rate, terms.highest_rate);
    }
    return terms;
}

}  // namespace lambda::session
