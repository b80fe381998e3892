#include "common/dialling/agreement.h"

#include "common/session/key_context.h"

namespace lambda::dialling {
namespace {

// Of two bounds where 0 is none. Rates travel in whole bits a second.
bool above(double agreed, double offered) {
    return offered > 0 && (agreed <= 0 || agreed > offered + 0.5);
}

// As it travels.
auto whole(Duration syn) {
    return std::chrono::duration_cast<std::chrono::microseconds>(syn);
}

}  // namespace

Fault fault_of_refusal(int code) {
    switch (code) {
        case 501:
        case 504:
            return Fault::usage;
        case 530:
            return Fault::session;
        case 550:
        case 553:
            return Fault::file;
        case 500:
        case 502:
            return Fault::unsupported;
        default:
            return Fault::cut;  // 425, 450: later it may do
    }
}

Result<void> check_agreement(const session::Terms& offered, const session::Terms& agreed) {
    const char* wrong = nullptr;
    if (agreed.direction != offered.direction) wrong = "direction";
    if (agreed.protection != offered.protection) wrong = "protection";
    if (agreed.cipher != offered.cipher) wrong = "cipher";
    if (agreed.congestion != offered.congestion) wrong = "congestion";
    if (whole(agreed.syn) != whole(offered.syn)) wrong = "syn";
    if (agreed.known_rate.bits_per_second > offered.known_rate.bits_per_second + 0.5)
        wrong = "known";
    if (agreed.read_back && !offered.read_back) wrong = "verify";
    if (agreed.receipt && !offered.receipt) wrong = "receipt";
    if (agreed.sha256 && !offered.sha256) wrong = "digest";
    if (agreed.stripes > offered.stripes) wrong = "stripes";
    if (agreed.payload > offered.payload) wrong = "payload";
    if (agreed.block > offered.block) wrong = "block";
    if (agreed.memory > offered.memory) wrong = "memory";
    if (above(agreed.initial_rate.bits_per_second, offered.initial_rate.bits_per_second))
        wrong = "initial";
    if (above(agreed.highest_rate.bits_per_second, offered.highest_rate.bits_per_second))
        wrong = "highest";
    if (above(static_cast<double>(agreed.window), static_cast<double>(offered.window)))
        wrong = "window";
    if (offered.direction == session::Direction::put && offered.read_back && !agreed.read_back) {
        return Error{.fault = Fault::unsupported,
                     .message = "the server does not know how to read back what it wrote",
                     .path = {},
                     .side = Side::remote,
                     .remedy = "leave --verify readback out, or use a newer server"};
    }
    if ((offered.receipt && !agreed.receipt) || (offered.sha256 && !agreed.sha256)) {
        return Error{.fault = Fault::unsupported,
                     .message = offered.sha256 ? "the server does not know the digest sha256"
                                               : "the server gives no receipts",
                     .path = {},
                     .side = Side::remote,
                     .remedy = "leave --receipt and --digest out, or use a newer server"};
    }
    if (wrong == nullptr) return {};
    return Error{
        .fault = Fault::protocol,
        .message = std::string("the server agreed to something that was not offered: ") + wrong,
        .path = {},
        .side = Side::remote,
        .remedy = {}};
}

Result<session::Agreement> agree(Connection& connection, const session::Offer& offer,
                                 const std::string& path) {
    const auto reply = connection.exchange("XFER", session::format_offer(offer));
    if (!reply) return reply.error();
    if (reply->code != 150) return refusal(*reply, fault_of_refusal(reply->code), path);
    auto agreement = session::parse_agreement(reply->text());
    if (!agreement) return senseless(agreement.error(), path);
    const auto checked = check_agreement(offer.terms, agreement->terms);
    if (!checked) return checked.error();
    if (offer.range && !agreement->range) {
        return Error{.fault = Fault::unsupported,
                     .message = "the server does not know how to move a range of a file",
                     .path = path_at_server(path),
                     .side = Side::remote,
                     .remedy = "move the whole file, or use a newer server"};
    }
    agreement->terms.read_back = offer.terms.read_back;  // of a get it is our own affair
    return agreement;
}

Result<mover::TransferSecret> transfer_secret(const Connection& connection,
                                              const session::Offer& offer,
                                              const session::Agreement& agreement) {
    return connection.export_key(session::kExporterLabel,
                                 session::key_context(agreement, offer.nonce));
}

}  // namespace lambda::dialling
