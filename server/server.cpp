#include "server/server.h"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <optional>

#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/tls/tls.h"
#include "config/endpoint.h"
#include "server/listener.h"
#include "server/password_hash.h"
#include "server/service.h"
#include "server/state.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;

// SIGTERM: how long transfers may go on by themselves, and then how long their end may take, so
// that both stay well below the TimeoutStopSec of lambda-ftpd.service.
constexpr std::chrono::seconds kGrace{10};
constexpr std::chrono::seconds kEndTime{20};
// How long sessions may take to say goodbye when nothing runs any more, and how often to look.
constexpr int kGoodbyeLooks = 50;
constexpr std::chrono::milliseconds kGoodbyePause{10};
constexpr std::size_t kFilesToAnswer = 64;
constexpr std::size_t kFewestSessions = 8;
// Of the service's pools, and one that reloads. Asio's pool that gets some of its threads never
// ends.
constexpr unsigned kThreads = 14;

// A machine without one family still serves the other.
bool family_missing(const Error& error) {
    return error.fault == Fault::unsupported;
}

}  // namespace

Error stopping_error(Side side) {
    return Error{.fault = Fault::cut,
                 .message = "the server stops",
                 .path = {},
                 .side = side,
                 .remedy = "try again when it runs"};
}

struct Server::State {
    State(config::ServerSettings given, io::TlsContext context, std::uint64_t first_number)
        : settings(std::move(given)),
          tls(std::move(context)),
          transfers(settings, first_number,
                    [this](std::function<void()> run) { asio::post(loop, std::move(run)); }),
          copies(settings, tls, transfers,
                 [this](std::function<void()> run) { asio::post(loop, std::move(run)); }),
          service{.settings = settings,
                  .tls = tls,
                  .transfers = transfers,
                  .copies = copies,
                  .accounts = {}},
          listener(loop, service),
          signals(loop),
          clock(loop) {}

    // The loop goes before what its sessions use, and after what posts to it: see the destructor.
    ~State() {
        loop.stop();
        transfers.stop_all(stopping_error(Side::remote));
        transfers.abandon();
        copies.abandon();
        service.ending = true;
        service.passwords.join();
        service.files.join();
        service.checksums.join();
    }

    void take(std::shared_ptr<const Accounts> accounts);
    void stop();
    void cut();
    void leave(int looks);
    void await_signal(std::function<void()> hangup);

    config::ServerSettings settings;
    io::TlsContext tls;
    Transfers transfers;
    Copies copies;
    Service service;
    asio::io_context loop{1};
    Listener listener;
    asio::signal_set signals;
    asio::steady_timer clock;
    std::vector<Address> addresses;
    bool stopping = false;
    bool cutting = false;
};

void Server::State::take(std::shared_ptr<const Accounts> accounts) {
    transfers.share_among(accounts->size());
    service.accounts = std::move(accounts);
    service.known_logins.forget();
}

void Server::State::stop() {
    if (std::exchange(stopping, true)) return cut();
    io::log_info("stopping; running transfers: " + std::to_string(transfers.running()));
    service.stopping = true;
    listener.stop();
    clock.expires_after(kGrace);
    clock.async_wait([this](const boost::system::error_code& problem) {
        if (!problem) cut();
    });
    transfers.when_idle([this] {
        copies.stop_all(stopping_error(Side::local));  // those that rest between two tries
        service.ending = true;                         // checksums, which may read for days
        leave(kGoodbyeLooks);
    });
}

void Server::State::cut() {
    if (transfers.running() == 0 || std::exchange(cutting, true)) return;
    transfers.stop_all(stopping_error(Side::remote));
    copies.stop_all(stopping_error(Side::local));
    clock.expires_after(kEndTime);
    clock.async_wait([this](const boost::system::error_code& problem) {
        if (problem) return;
        io::log_error("a transfer did not end in time");
        loop.stop();
    });
}

void Server::State::leave(int looks) {
    const bool all_gone = service.admission.count() == 0 && copies.running() == 0;
    if (looks == 0 || all_gone) return loop.stop();
    clock.expires_after(kGoodbyePause);
    clock.async_wait([this, looks](const boost::system::error_code& problem) {
        if (!problem) leave(looks - 1);
    });
}

void Server::State::await_signal(std::function<void()> hangup) {
    signals.async_wait([this, hangup = std::move(hangup)](const boost::system::error_code& problem,
                                                          int signal) mutable {
        if (problem) return;
        if (signal == SIGHUP) {
            hangup();
        } else {
            stop();
        }
        await_signal(std::move(hangup));
    });
}

namespace {

// A session has its socket and its root, and files while it is answered.
std::size_t files_of(std::size_t sessions) {
    return 2 * sessions + kFilesToAnswer;
}

// Where the limit of open files is low, half of it: else strangers could leave transfers none.
std::uint32_t sessions_that_fit(std::uint32_t wanted) {
    const std::size_t half = io::files_to_open() / 2;
    const std::size_t fit = half > kFilesToAnswer ? (half - kFilesToAnswer) / 2 : 0;
    if (fit >= wanted) return wanted;
    const auto most = static_cast<std::uint32_t>(std::max(fit, kFewestSessions));
    if (most >= wanted) return wanted;
    io::log_warning("at most " + std::to_string(most) + " sessions, though sessions_max is " +
                    std::to_string(wanted) + ": the limit of open files is " +
                    std::to_string(io::files_to_open()) +
                    " (raise it, by ulimit -n or LimitNOFILE, to " +
                    std::to_string(2 * files_of(wanted)) + ")");
    return most;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::make(config::ServerSettings settings, Accounts accounts) {
    if (auto made = make_state_directory(settings.state); !made) return made.error();
    if (settings.certificate.empty()) {
        settings.key = key_file(settings);
        settings.certificate = certificate_file(settings);
        if (auto made = ensure_certificate(settings.certificate, settings.key); !made) {
            return made.error();
        }
    }
    Result<io::TlsContext> tls = io::TlsContext::server(settings.certificate, settings.key,
                                                        settings.client_ca, settings.allow_copy);
    if (!tls) return tls.error();
    const Result<std::uint64_t> first = first_transfer_number(settings.state);
    if (!first) return first.error();
    settings.sessions_max = sessions_that_fit(settings.sessions_max);
    io::keep_files_spare(files_of(settings.sessions_max));
    dummy_password_hash();  // made before the first stranger could time it

    if (auto can = io::try_threads(kThreads); !can) return can.error();
    auto state = std::make_unique<State>(std::move(settings), std::move(*tls), *first);
    state->take(std::make_shared<const Accounts>(std::move(accounts)));
    std::optional<Error> missing;
    for (const Address& wanted : state->settings.listen) {
        Result<Address> bound = state->listener.listen(wanted);
        if (bound) {
            state->addresses.push_back(*bound);
        } else if (family_missing(bound.error())) {
            io::log_warning(bound.error().sentence());
            missing = bound.error();
        } else {
            return bound.error();
        }
    }
    if (state->addresses.empty()) return missing.value_or(stopping_error(Side::local));
    state->listener.start();
    return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;

const std::vector<Address>& Server::addresses() const {
    return state_->addresses;
}

void Server::run() {
    state_->loop.run();
}

void Server::stop() {
    asio::post(state_->loop, [state = state_.get()] { state->stop(); });
}

void Server::replace_accounts(Accounts accounts) {
    auto fresh = std::make_shared<const Accounts>(std::move(accounts));
    asio::post(state_->loop, [state = state_.get(), fresh = std::move(fresh)]() mutable {
        state->take(std::move(fresh));
        state->listener.accounts_replaced();
    });
}

Result<void> Server::watch_signals(std::function<void()> hangup) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        boost::system::error_code problem;
        state_->signals.add(signal, problem);
        if (problem)
            return errno_error(Fault::session, "cannot watch for signals", {}, problem.value());
    }
    state_->await_signal(std::move(hangup));
    return {};
}

}  // namespace lambda::server
