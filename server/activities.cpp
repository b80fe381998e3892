// What runs while commands wait: transfers and checksums, and the stripes that join.
#include <atomic>

#include "common/dialling/waiting.h"
#include "common/io/log.h"
#include "common/session/key_context.h"
#include "server/checksum.h"
#include "server/offload.h"
#include "server/session.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;

Error cut(std::string message) {
    return Error{.fault = Fault::cut,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::remote,
                 .remedy = {}};
}

bool is_null(const std::string& target) {
    return target == "/.null";
}

session::Reply nothing_to_sign() {
    return {.code = 503, .lines = {"No transfer has ended here that an account was kept of"}};
}

// A client waits for a reply for a minute.
constexpr std::chrono::seconds kMostForFormer{30};

}  // namespace

bool lands_in_directory(const std::string& target, bool several, const io::Root& root) {
    if (several || target.back() == '/') return true;
    if (root.allow_null() && is_null(target)) return false;
    const Result<struct stat> status = root.stat(target, true);
    return status && S_ISDIR(status->st_mode);
}

// GCC 12 inlines the frame's operator new and not its operator delete, and takes them for no pair.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
asio::awaitable<void> Session::transfer(const std::string& argument) {
    Result<session::Offer> offer = session::parse_offer(argument);
    if (!offer) {
        reply(501, offer.error().sentence());
        co_return;
    }
    const io::Root& root = granted_ ? granted_->root : *root_;
    const bool put = offer->terms.direction == session::Direction::put;
    if (put && root.read_only()) {
        reply(550, "This account may only read");
        co_return;
    }
    TransferBounds bounds;
    if (granted_) {
        auto covered = granted_bounds(*offer);
        if (!covered) co_return;
        bounds = *std::move(covered);
    }
    if (granted_ && offer->range) {
        reply(550, "What was granted is whole files");
        co_return;
    }
    const std::string target = resolve(place_.directory, offer->path);
    const bool staged = put && offer->range;
    std::shared_ptr<io::RangeClaim> claim;
    bool into_directory = false;
    if (staged) {
        claim = co_await claim_range(*offer->range, target);
        if (!claim) co_return;
    } else {
        if (put) co_await wait_for_former(target);
        auto look = [&]() -> Result<bool> {
            return put && lands_in_directory(target, offer->several, root);
        };
        const auto looked = co_await service_.files.run(user_, look);
        if (!looked) {
            reply(error_reply(looked.error()));
            co_return;
        }
        into_directory = *looked;
    }
    if (service_.stopping) {
        reply(450, "The server stops");
        co_return;
    }
    if (granted_ && !takes_turn()) co_return;
    const bool again = granted_ && granted_->request.again > Duration{0};
    const std::weak_ptr<Session> weak = weak_from_this();
    const std::variant<OpenedTransfer, session::Reply> opened = service_.transfers.open(
        {.account = user_,
         .offer = std::move(*offer),
         .root = root,
         .target = target,
         .into_directory = into_directory,
         .bounds = std::move(bounds),
         .claim = std::move(claim),
         .local = connection_.local(),
         .peer = peer_,
         .export_key =
             [this](ByteView context) {
                 return connection_.tls().export_key(session::kExporterLabel, context);
             },
         .ended =
             [weak, &grants = service_.grants,
              token = again ? granted_->token : std::string()](const mover::Outcome& outcome) {
                 if (!token.empty()) grants.end(token, !outcome.cut, dialling::now());
                 if (const auto self = weak.lock()) self->transfer_ended(outcome);
             }});
    if (const auto* refused = std::get_if<session::Reply>(&opened)) {
        log("a transfer is refused to " + user_ + ": " + refused->lines.front());
        reply(*refused);
        co_return;
    }
    const OpenedTransfer& started = std::get<OpenedTransfer>(opened);
    const std::uint64_t number = started.number;
    const bool signs = started.agreement.terms.receipt;
    signable_.reset();
    if (signs) {
        signable_ = {.direction = started.agreement.terms.direction,
                     .account = user_,
                     .place = target,
                     .into_directory = into_directory,
                     .transfer = number};
    }
    if (granted_) granted_->used = true;
    if (again) service_.grants.begin(granted_->token, number);
    log("transfer " + std::to_string(number) + " begins for " + user_ + ": " +
        to_string(started.agreement.terms.direction) + ", " +
        std::to_string(started.agreement.terms.stripes) + " stripes, " + target);
    Transfers& transfers = service_.transfers;
    begin({.cancel =
               [&transfers, number](const std::string& why) {
                   const std::string stood = transfers.progress(number).standstill;
                   transfers.stop(number, cut(stood.empty() ? why : why + ", when " + stood));
               },
           .status =
               [&transfers, number] {
                   const mover::Progress now = transfers.progress(number);
                   return "Transfer " + std::to_string(number) + ": " + std::to_string(now.bytes) +
                          " of " + std::to_string(now.total_bytes) + " bytes, " +
                          std::to_string(now.files_done) + " of " +
                          std::to_string(now.files_known) + " files";
               },
           .limit = [&transfers, number](BitRate rate) { transfers.set_limit(number, rate); },
           .client_done =
               signs ? std::function<void()>([&transfers, number] { transfers.peer_ended(number); })
                     : nullptr});
    reply(150, session::format_agreement(started.agreement));
}
#pragma GCC diagnostic pop

// The files of a client that was killed are locked until all is flushed that came of them; the same
// command run again at once would find them so.
asio::awaitable<void> Session::wait_for_former(const std::string& target) {
    connection_.set_deadline(Connection::Deadline::clock::now() + kMostForFormer);
    for (bool said = false; !stopping_ && service_.transfers.ending(user_, target); said = true) {
        if (!said) log("waits for the end of the transfer before, of a client that is gone");
        service_.transfers.at_next_end([weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->connection_.wake();
        });
        if (co_await connection_.wait(io::IoStatus::ok) == Connection::Wait::deadline) break;
    }
}

void Session::transfer_ended(const mover::Outcome& outcome) {
    if (outcome.cut) {
        signable_.reset();
        finish({.code = 426, .lines = {outcome.cut->sentence()}});
    } else {
        if (signable_) signable_->tally = outcome.receipt.value();
        finish({.code = 226,
                .lines = {session::format_tally(
                    {.files = outcome.files, .bytes = outcome.bytes, .failed = outcome.failed})}});
    }
    if (!to_sign_) return;
    reply(signable_ ? server::sign(*to_sign_, *signable_, service_.tls) : nothing_to_sign());
    to_sign_.reset();
}

// Said while the transfer runs, it tells that the client is done, and is answered behind 226.
void Session::sign(const std::string& argument) {
    const Result<session::SignRequest> request = session::parse_sign(argument);
    if (!request) return reply(501, request.error().sentence());
    const bool runs = activity_ && activity_->client_done;
    if (!signable_ || to_sign_ || (activity_ && !runs)) return reply(nothing_to_sign());
    if (!runs) return reply(server::sign(*request, *signable_, service_.tls));
    to_sign_ = *request;
    activity_->client_done();
}

asio::awaitable<void> Session::join(const std::string& argument) {
    const Result<session::JoinRequest> request = session::parse_join(argument);
    if (!request) {
        failed_proof(501, request.error().sentence());
        co_return;
    }
    // What came behind the command would be lost to the mover.
    if (!queue_.empty() || !input_.empty() || !framer_.empty()) {
        failed_proof(503, "JOIN is followed by nothing before its reply");
        closing_ = true;
        co_return;
    }
    const std::optional<std::uint64_t> number = service_.transfers.claim(*request);
    if (!number) {
        failed_proof(530, "No such transfer, stripe or epoch");
        co_return;
    }
    reply(200, "Joined");
    closing_ = true;
    if (!co_await connection_.flush(output_)) co_return;
    io::log_debug(label_ + "joined transfer " + std::to_string(*number) + " as stripe " +
                  std::to_string(request->stripe) + ", epoch " + std::to_string(request->epoch));
    joined_ = true;
    slot_.release();
    service_.transfers.join(*number, *request, connection_.release());
}

void Session::checksum(const std::string& argument) {
    if (service_.stopping) return reply(450, "The server stops");
    Result<session::ChecksumRequest> request = session::parse_checksum(argument);
    if (!request) return reply(501, request.error().sentence());
    const auto algorithm = verify::parse_algorithm(request->algorithm);
    if (!algorithm) return reply(504, "CKSM knows " + verify::algorithm_names());
    request->path = resolve(place_.directory, request->path);

    struct Job {
        session::ChecksumRequest request;
        verify::Algorithm algorithm;
        io::Root root;
        std::atomic<bool> stop{false};
        std::atomic<std::uint64_t> bytes{0};
        Job(session::ChecksumRequest r, verify::Algorithm which, io::Root where)
            : request(std::move(r)), algorithm(which), root(std::move(where)) {}
    };
    const auto job = std::make_shared<Job>(std::move(*request), *algorithm, *root_);
    // The session goes along and comes back: it must not end on a worker's thread.
    const std::uint64_t number = service_.checksums.post(
        user_, [self = shared_from_this(), job,
                guard = asio::make_work_guard(connection_.executor())]() mutable {
            Result<std::string> answer = server::checksum(
                job->request, job->algorithm, job->root,
                [&] { return job->stop || self->service_.ending; }, job->bytes);
            const bool stopped = job->stop || self->service_.ending;
            asio::post(guard.get_executor(),
                       [self = std::move(self), answer = std::move(answer), stopped] {
                           if (answer) return self->finish({.code = 213, .lines = {*answer}});
                           if (!stopped) return self->finish(error_reply(answer.error()));
                           self->finish({.code = 426, .lines = {answer.error().sentence()}});
                       });
        });
    // One that waits ends at once, and not when those before it have been read.
    auto cancel = [this, job, number](const std::string&) {
        job->stop = true;
        if (!service_.checksums.drop(user_, number)) return;
        asio::post(connection_.executor(), [self = shared_from_this()] {
            self->finish({.code = 426, .lines = {"The checksum was stopped"}});
        });
    };
    begin({.cancel = std::move(cancel), .status = [job] {
               return "Checksum: " + std::to_string(job->bytes.load()) + " bytes read";
           }});
}

void Session::begin(Activity activity) {
    LAMBDA_ASSERT(!activity_);
    activity_ = std::move(activity);
}

// On the loop's thread, at any point where the session's coroutine waits.
void Session::finish(const session::Reply& answer) {
    LAMBDA_ASSERT(activity_);
    activity_.reset();
    changed_ = true;
    reply(answer);
    for (; aborts_ > 0; --aborts_) reply(226, "Stopped");
    renew_idle_time();
    set_deadline();  // of a flush that waits since there was none
    connection_.wake();
}

}  // namespace lambda::server
