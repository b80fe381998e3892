#include "server/transfers.h"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/hex.h"
#include "common/base/units.h"
#include "common/io/cipher/random.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/sabul/congestion/registry.h"
#include "common/session/key_context.h"
#include "server/stripe_share.h"

namespace lambda::server {
namespace {

using session::Reply;

// Of one transfer: the client hears of all, the log need not.
constexpr std::size_t kMaxLoggedFailures = 10;

Reply refusal(int code, const Error& error) {
    return Reply{.code = code, .lines = {error.sentence()}};
}

Reply refusal_of_terms(const Error& error) {
    return refusal(error.fault == Fault::unsupported ? 504 : 501, error);
}

session::Limits limits_of(const config::ServerSettings& settings, std::uint64_t memory,
                          std::size_t running) {
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    return session::Limits{.stripes = stripe_share(settings.stripes_max, processors, running),
                           .highest_rate = settings.highest_rate,
                           .memory = memory,
                           .laws = sabul::law_names(),
                           .allow_safe = settings.allow_safe,
                           .allow_clear = settings.allow_clear};
}

session::Agreement fresh_agreement(session::Terms terms, std::uint64_t number,
                                   bool into_directory) {
    session::Agreement agreement;
    agreement.terms = std::move(terms);
    io::fill_random(agreement.nonce);
    agreement.transfer = number;
    std::array<std::byte, 16> token{};
    io::fill_random(token);
    agreement.token = to_hex(token);
    agreement.into_directory = into_directory;
    return agreement;
}

std::optional<FileRange> range_of(const session::Offer& offer) {
    if (!offer.range) return std::nullopt;
    return offer.range->range;
}

std::string name_of(std::uint64_t number) {
    return "transfer " + std::to_string(number) + ": ";
}

// The far end is the client here.
std::string told_here(Error error) {
    if (error.side == Side::remote && !error.path.empty()) {
        error.path += " (at the client)";
        error.side = Side::local;
    }
    return error.sentence();
}

// Of a get, since what it is to be comes after its begin.
std::string names_asked(const mover::Outcome& outcome) {
    std::string text;
    for (const std::string& name : outcome.asked) text += (text.empty() ? "" : ", ") + name;
    if (outcome.wants > outcome.asked.size())
        text += " and " + std::to_string(outcome.wants - outcome.asked.size()) + " more";
    return text.empty() ? text : "get of " + text + ": ";
}

void log_end(std::uint64_t number, const mover::Outcome& outcome) {
    std::string text =
        name_of(number) + (outcome.cut ? "cut: " + told_here(*outcome.cut) + "; " : "ended: ") +
        names_asked(outcome) +
        session::format_tally(
            {.files = outcome.files, .bytes = outcome.bytes, .failed = outcome.failed});
    const bool began = outcome.transfer_seconds > 0;
    text += (began ? " in " + format_duration(from_seconds(outcome.transfer_seconds))
                   : std::string(", no content came or went")) +
            ", sent packets: " + std::to_string(outcome.sent_packets) +
            ", lost: " + std::to_string(outcome.lost_packets) +
            ", refused: " + std::to_string(outcome.refused_packets);
    io::log_info(text);
    const std::size_t told = std::min(outcome.failures.size(), kMaxLoggedFailures);
    for (const mover::FileFailure& failure : std::span(outcome.failures).first(told)) {
        io::log_warning(name_of(number) + told_here(failure.error));
    }
}

}  // namespace

Transfers::Transfers(const config::ServerSettings& settings, std::uint64_t first_number, Post post)
    : settings_(settings),
      next_number_(first_number),
      post_(std::move(post)),
      memory_(settings.memory, settings.transfer_memory, session::kMinMemory,
              settings.transfers_max),
      ports_(settings.data_ports.last - settings.data_ports.first + 1u, settings.stripes_max, 1,
             settings.transfers_max) {}

std::variant<OpenedTransfer, Reply> Transfers::open(TransferRequest request) {
    std::size_t leaving = 0;
    if (!request.offer.replaces.empty()) {
        if (const auto old = book_.find(request.offer.replaces)) {
            leaving = transfers_.count(*old);
            stop(*old, Error{.fault = Fault::cut,
                             .message = "the client came back with another session",
                             .path = {},
                             .side = Side::remote,
                             .remedy = {}});
        }
    }
    auto share = take_share(request.account, request.offer.terms, running() - leaving);
    if (auto* refused = std::get_if<Reply>(&share)) return std::move(*refused);
    Share& taken = std::get<Share>(share);

    const std::uint64_t number = next_number_++;
    session::Agreement agreement =
        fresh_agreement(std::move(taken.terms), number, request.into_directory);
    const Result<mover::TransferSecret> secret =
        request.export_key(session::key_context(agreement, request.offer.nonce));
    if (!secret) return refusal(504, secret.error());
    std::optional<Held> held;
    if (const auto& claim = request.claim)
        held = Held{.stage = claim->key(), .bytes = claim->bytes(), .fence = claim->fence()};
    const bool get = agreement.terms.direction == session::Direction::get;
    agreement.range = request.offer.range.has_value();
    taken.ports_ = ports_.take(agreement.terms.stripes);
    Result<std::unique_ptr<mover::Mover>> mover = mover::Mover::make(
        {.terms = agreement.terms,
         .secret = *secret,
         .transfer = number,
         .is_client = false,
         .root = std::move(request.root),
         .range = get ? range_of(request.offer) : std::nullopt,
         .claim = std::move(request.claim),
         .sources = {},
         .wants = {},
         .walk = {},
         .plan = {},
         .target = {.path = request.target, .into_directory = request.into_directory},
         .only = std::move(request.bounds.only),
         .may_follow = request.bounds.may_follow,
         .may_archive = request.bounds.may_archive,
         .most_bytes = request.bounds.most_bytes,
         .only_plan = std::move(request.bounds.plan),
         .local = request.local,
         .peer = request.peer,
         .ports = {},
         .first_port = settings_.data_ports.first,
         .last_port = settings_.data_ports.last,
         // Where ours have taken all, who knows better is the machine, which says so.
         .most_ports = std::max<std::uint64_t>(1, taken.ports_),
         .socket_buffer = settings_.socket_buffer,
         .allow_uring = settings_.io_uring,
         .dial = {},
         .finished = [this, number] { post_([this, number] { end(number); }); }});
    const auto refused = [&](const Error& error) {
        io::log_warning(name_of(number) + error.sentence());
        return refusal(error.fault == Fault::cut ? 450 : 425, error);
    };
    if (!mover) return refused(mover.error());
    for (const std::string& note : (*mover)->notes()) io::log_warning(name_of(number) + note);
    agreement.ports = (*mover)->ports();
    book_.add(number, agreement.token, agreement.terms.stripes);
    // Before it starts: its end looks for it here.
    const auto entered =
        transfers_
            .insert_or_assign(number,
                              Transfer{.mover = std::move(*mover),
                                       .account = std::move(request.account),
                                       .share = std::move(taken),
                                       .ended = std::move(request.ended),
                                       .held = std::move(held),
                                       .target = get ? std::string() : std::move(request.target)})
            .first;
    if (auto started = entered->second.mover->start(); !started) {
        transfers_.erase(entered);
        book_.remove(number);
        return refused(started.error());
    }
    return OpenedTransfer{.number = number, .agreement = std::move(agreement)};
}

Transfers::Share::Share(Transfers& owner, std::string account) : account_(std::move(account)) {
    ++owner.running_of_[account_];
    ++owner.shares_;
    owner_ = &owner;
}

Transfers::Share& Transfers::Share::operator=(Share&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(account_, other.account_);
    std::swap(memory_, other.memory_);
    std::swap(ports_, other.ports_);
    terms = std::move(other.terms);
    return *this;
}

Transfers::Share::~Share() {
    if (owner_ == nullptr) return;
    if (memory_ > 0) owner_->memory_.give_back(memory_);
    if (ports_ > 0) owner_->ports_.give_back(ports_);
    --owner_->shares_;
    const auto own = owner_->running_of_.find(account_);
    LAMBDA_ASSERT(own != owner_->running_of_.end());
    if (--own->second == 0) owner_->running_of_.erase(own);
}

std::variant<Transfers::Share, Reply> Transfers::take_share(const std::string& account,
                                                            const session::Terms& wanted,
                                                            std::size_t others) {
    if (running() >= settings_.transfers_max) {
        return Reply{.code = 450, .lines = {"Too many transfers run; try later"}};
    }
    const auto own = running_of_.find(account);
    if (own != running_of_.end() && own->second >= most_of_account()) {
        return Reply{.code = 450, .lines = {"Too many transfers of this account run; try later"}};
    }
    if (io::files_are_short()) {
        return Reply{.code = 450, .lines = {"Too many files are open here; try later"}};
    }
    const Result<session::Terms> terms =
        session::agree(wanted, limits_of(settings_, settings_.transfer_memory, others));
    if (!terms) return refusal_of_terms(terms.error());
    const Result<void> law = sabul::check_law(terms->congestion);
    if (!law) return refusal_of_terms(law.error());
    Share share(*this, account);
    share.memory_ = memory_.take(terms->memory);
    if (share.memory_ == 0) return Reply{.code = 450, .lines = {"No memory is left; try later"}};
    share.terms = session::agree(*terms, limits_of(settings_, share.memory_, others)).value();
    return share;
}

std::size_t Transfers::most_of_account() const {
    const std::size_t all = settings_.transfers_max;
    const std::size_t left = accounts_ > 1 ? std::max<std::size_t>(1, all / 8) : 0;
    return std::max<std::size_t>(1, all - left);
}

void Transfers::release(Share share) {
    share = {};
    look_whether_idle();
}

void Transfers::join(std::uint64_t number, const session::JoinRequest& request,
                     io::TlsStream stream) {
    const auto found = transfers_.find(number);
    if (found == transfers_.end()) return;
    found->second.mover->join(request.stripe, request.epoch, std::move(stream));
}

void Transfers::stop(std::uint64_t number, Error why) {
    const auto found = transfers_.find(number);
    if (found == transfers_.end()) return;
    found->second.stopped = true;
    found->second.mover->stop(std::move(why));
}

bool Transfers::ending(const std::string& account, const std::string& target) const {
    return std::any_of(transfers_.begin(), transfers_.end(), [&](const auto& each) {
        const Transfer& transfer = each.second;
        return transfer.stopped && transfer.account == account && transfer.target == target;
    });
}

void Transfers::supersede(const std::string& stage, Range bytes, std::uint64_t fence) {
    for (auto& [number, transfer] : transfers_) {
        const auto& held = transfer.held;
        const bool older = held && held->stage == stage && held->fence < fence &&
                           held->bytes.first < bytes.last && bytes.first < held->bytes.last;
        if (!older) continue;
        transfer.mover->stop(Error{.fault = Fault::cut,
                                   .message = "a newer claim took the range over",
                                   .path = {},
                                   .side = Side::remote,
                                   .remedy = {}});
    }
}

void Transfers::stop_all(const Error& why) {
    for (auto& [number, transfer] : transfers_) transfer.mover->stop(why);
}

void Transfers::set_limit(std::uint64_t number, BitRate limit) {
    const auto found = transfers_.find(number);
    if (found != transfers_.end()) found->second.mover->set_limit(limit);
}

void Transfers::peer_ended(std::uint64_t number) {
    const auto found = transfers_.find(number);
    if (found != transfers_.end()) found->second.mover->peer_ended();
}

mover::Progress Transfers::progress(std::uint64_t number) const {
    const auto found = transfers_.find(number);
    return found == transfers_.end() ? mover::Progress{} : found->second.mover->progress();
}

void Transfers::when_idle(std::function<void()> then) {
    if (running() == 0) return then();
    when_idle_ = std::move(then);
}

void Transfers::end(std::uint64_t number) {
    const auto found = transfers_.find(number);
    LAMBDA_ASSERT(found != transfers_.end());
    Transfer transfer = std::move(found->second);
    transfers_.erase(found);
    book_.remove(number);
    const mover::Outcome outcome = transfer.mover->outcome();
    transfer.mover.reset();
    transfer.share = {};
    log_end(number, outcome);
    transfer.ended(outcome);
    for (const auto& then : std::exchange(at_next_end_, {})) then();
    look_whether_idle();
}

void Transfers::look_whether_idle() {
    if (running() == 0 && when_idle_) std::exchange(when_idle_, nullptr)();
}

}  // namespace lambda::server
