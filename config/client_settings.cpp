#include "config/client_settings.h"

#include "config/schema.h"

namespace lambda::config {
namespace {

constexpr BitRate kLeastRate{100e3};
constexpr BitRate kMostRate{1e12};

void add_flow(Schema& schema, ClientSettings& into) {
    schema.count({"stripes", "Parallel flows of a transfer; the server may allow fewer."},
                 into.stripes, {1, session::kMaxStripes});
    schema.law({"congestion",
                "The congestion control law (docs/congestion.md): sabul, or one for comparison, as "
                "cubic or mimd:preset=pr1,T=400ms. An unknown one is answered with the list of "
                "those there are."},
               into.congestion);
    schema.optional_rate({"initial_rate",
                          "What a transfer starts at, over all stripes. auto: at 100Mbit/s, or, by "
                          "the law sabul, half of what the last "
                          "transfers to or from this server carried, where that is more."},
                         into.initial_rate, {kLeastRate, kMostRate}, "auto");
    schema.add(
        {.name = "rate_limit",
         .allowed = "none, " + exact_rate(kLeastRate) + " to " + exact_rate(kMostRate) +
                    ", or HH:MM-HH:MM RATE with more after commas",
         .default_value = "none",
         .documentation =
             "The most payload a second of a transfer, over all stripes; by the local time of "
             "the client, or between two servers of the one that dials, as in "
             "08:00-18:00 200Mbit/s, 18:00-08:00 max.",
         .read = [&into](const Entry& entry) -> std::optional<std::string> {
             if (entry.is_list || entry.items.empty()) return "must be one value";
             return read_rate_limit(entry.items.front(), into);
         }});
    schema.optional_size({"window", "The most bytes in flight, over all stripes."}, into.window,
                         {64 * KiB, 64 * GiB});
    schema.duration({"syn", "The interval of rate control and acknowledgements."}, into.syn,
                    {std::chrono::milliseconds(1), std::chrono::seconds(1)});
    schema.duration(
        {"retry_for",
         "For how long a session that was lost is dialled again; the transfer then "
         "goes on where it was. Likewise where the server is full and, but between two "
         "servers, for a file that another transfer writes. A first one that ends before "
         "its login is not, but where the server says that it is full or stops: what else is wrong "
         "with it may never pass. 0s: not at all."},
        into.retry_for, {Duration{0}, std::chrono::hours(24 * 365)});
    schema.choice<bool>({"verify",
                         "transfer: what is written was compared by digest; readback: besides, the "
                         "receiver reads it "
                         "from its disk again, past the page cache, before a file gets its name."},
                        into.read_back, {{"transfer", false}, {"readback", true}});
    schema.size({"payload", "The most file bytes in one packet; the path may allow less."},
                into.payload, {session::kMinPayload, session::kMaxPayload});
    schema.size(
        {"block_size", "The unit in which files are read, written and shared out to stripes."},
        into.block_size, {1 * MiB, 16 * MiB}, 1 * MiB);
}

void add_machine(Schema& schema, ClientSettings& into) {
    schema.size(
        {"memory", "Bound of the whole process, of which the ring of blocks is at most 176MiB."},
        into.memory, {96 * MiB, 64 * GiB});
    schema.size({"socket_buffer",
                 "Receive and send buffer of each UDP socket. The kernel's net.core.rmem_max and "
                 "wmem_max must allow it."},
                into.socket_buffer, {64 * KiB, 1 * GiB});
    schema.flag(
        {"io_uring", "Read and write by io_uring where the kernel allows it; else by threads."},
        into.io_uring);
    schema.choice({"log_level", "The least important messages that are shown."}, into.log_level,
                  {"debug", "info", "warning", "error"});
}

void add_trust(Schema& schema, ClientSettings& into) {
    schema.choice<session::Protection>(
        {"protection",
         "private: encrypted and authenticated; safe: authenticated, readable on the "
         "path; clear: only checked for errors."},
        into.protection,
        {{"private", session::Protection::private_},
         {"safe", session::Protection::safe},
         {"clear", session::Protection::clear}});
    schema.choice<std::optional<session::Cipher>>(
        {"cipher", "auto takes the one that is faster on this machine."}, into.cipher,
        {{"auto", std::nullopt},
         {"aes-128-gcm", session::Cipher::aes_128_gcm},
         {"chacha20-poly1305", session::Cipher::chacha20_poly1305}});
    schema.flag({"trust_new_host",
                 "Accept and remember the key of a server that was never seen, without asking. A "
                 "changed key is refused in any case."},
                into.trust_new_host);
    schema.path({"ca",
                 "Authorities (PEM) that vouch for servers. Empty: none; servers are known by "
                 "their keys (known_hosts)."},
                into.ca, true);
}

std::optional<std::string> out_of_range(BitRate rate) {
    if (rate.bits_per_second == 0 || (rate >= kLeastRate && rate <= kMostRate)) return std::nullopt;
    return "'" + exact_rate(rate) + "' is out of range";
}

}  // namespace

std::optional<std::string> read_rate_limit(const std::string& text, ClientSettings& into) {
    BitRate limit{0};
    RateTimetable hours;
    if (RateTimetable::looks_like_one(text)) {
        const auto parsed = RateTimetable::parse(text);
        if (!parsed) return parsed.error().sentence();
        for (const RateTimetable::Stretch& stretch : parsed->stretches()) {
            if (auto wrong = out_of_range(stretch.limit)) return wrong;
        }
        hours = *parsed;
    } else if (text != "none" && text != "max") {
        const auto parsed = parse_rate(text);
        if (!parsed) return parsed.error().sentence();
        if (parsed->bits_per_second == 0) return "'" + text + "' is out of range";
        if (auto wrong = out_of_range(*parsed)) return wrong;
        limit = *parsed;
    }
    into.rate_limit = limit;
    into.rate_hours = hours;
    return std::nullopt;
}

Schema client_schema(ClientSettings& into) {
    Schema schema;
    add_flow(schema, into);
    add_trust(schema, into);
    add_machine(schema, into);
    return schema;
}

Result<ClientSettings> parse_client_settings(std::string_view text, const std::string& file) {
    const Result<std::vector<Entry>> entries = parse_document(text, file);
    if (!entries) return entries.error();
    ClientSettings settings;
    if (const auto applied = client_schema(settings).apply(*entries, file); !applied) {
        return applied.error();
    }
    const auto related =
        check_relations({{.holds = settings.rate_limit.bits_per_second == 0 ||
                                   settings.initial_rate <= settings.rate_limit,
                          .keys = {"initial_rate", "rate_limit"},
                          .what = "initial_rate (" + exact_rate(settings.initial_rate) +
                                  ") is more than rate_limit (" + exact_rate(settings.rate_limit) +
                                  "); allowed: at most as much"}},
                        *entries, file);
    if (!related) return related.error();
    return settings;
}

Result<ClientSettings> load_client_settings(const std::string& file) {
    const Result<std::string> text = read_document(file, "the settings");
    if (!text) return text.error();
    return parse_client_settings(*text, file);
}

}  // namespace lambda::config
