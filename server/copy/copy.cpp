#include "server/copy/copy.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <new>

#include "common/base/name_parts.h"
#include "common/dialling/agreement.h"
#include "common/dialling/retry.h"
#include "common/io/cipher/random.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/transfer/names.h"
#include "server/file_commands.h"

namespace lambda::server {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);
// Rates are means over this long.
constexpr Duration kRateWindow = std::chrono::seconds(5);

std::uint64_t bit_rate(std::uint64_t bytes, Duration time) {
    const double s = seconds(time);
    return s > 0 ? static_cast<std::uint64_t>(8 * static_cast<double>(bytes) / s) : 0;
}

session::CopyStatus first_status(std::uint64_t number, const session::CopyRequest& request) {
    session::CopyStatus status;
    status.copy = number;
    status.direction = request.terms.direction;
    status.peer = dialling::HostPort{request.host, request.port}.text();
    status.there = request.there;
    status.started = static_cast<std::uint64_t>(std::time(nullptr));
    status.path = request.path;
    return status;
}

session::CopyResult result_of(const mover::Outcome& outcome) {
    session::CopyResult result;
    result.cut = outcome.cut;
    result.files = outcome.files;
    result.links = outcome.links;
    result.directories = outcome.directories;
    result.skipped = outcome.skipped;
    result.unowned = outcome.unowned;
    result.failed = outcome.failed;
    result.bytes = outcome.bytes;
    result.bytes_kept = outcome.bytes_kept;
    result.verified = outcome.verified;
    result.leaves_again = outcome.leaves_again;
    result.leaves_changed = outcome.leaves_changed;
    result.sent_packets = outcome.sent_packets;
    result.lost_packets = outcome.lost_packets;
    result.retransmitted_packets = outcome.retransmitted_packets;
    result.refused_packets = outcome.refused_packets;
    result.transfer_us = static_cast<std::uint64_t>(std::llround(outcome.transfer_seconds * 1e6));
    result.adopted = outcome.adopted;
    result.adopted_bytes = outcome.adopted_bytes;
    result.mended = outcome.mended;
    result.deleted = outcome.deleted;
    result.cuts = outcome.cuts;
    for (const mover::Skipped& skip : outcome.skips) result.skips.push_back({skip.name, skip.why});
    for (const mover::StripeOutcome& stripe : outcome.stripes) {
        result.stripes.push_back(
            {.bytes = stripe.bytes,
             .packets = stripe.packets,
             .lost = stripe.lost,
             .rtt_us = static_cast<std::uint64_t>(std::llround(stripe.rtt_ms * 1e3))});
    }
    result.evidence = outcome.evidence;
    for (const mover::FileFailure& failure : outcome.failures) {
        result.failures.push_back({.name = failure.name, .error = failure.error});
        Error& error = result.failures.back().error;
        if (error.path.empty()) error.path = failure.name;
    }
    return result;
}

session::CopyState end_state(const session::CopyResult& result) {
    if (result.cut) return session::CopyState::cut;
    return result.failed > 0 ? session::CopyState::failed : session::CopyState::done;
}

}  // namespace

Result<std::unique_ptr<Copy>> Copy::make(std::uint64_t number, CopyTask task) {
    io::Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return errno_error(Fault::cut, "cannot make an eventfd", {}, errno);
    return std::unique_ptr<Copy>(new Copy(number, std::move(task), std::move(event)));
}

Copy::Copy(std::uint64_t number, CopyTask task, io::Descriptor interruption)
    : number_(number),
      task_(std::move(task)),
      interruption_(std::move(interruption)),
      began_(dialling::now()),
      status_(first_status(number, task_.request)) {}

Copy::~Copy() {
    stop_waiting();
    dialling::Interruption(interruption_.get()).raise();
    if (thread_.joinable()) thread_.join();
}

Result<void> Copy::start() {
    auto thread = io::start_thread([this] { run(); });
    if (!thread) return thread.error();
    thread_ = *std::move(thread);
    return {};
}

void Copy::cancel(Error why) {
    {
        const std::lock_guard lock(mutex_);
        if (!cancelled_) cancelled_ = std::move(why);
    }
    stop_waiting();
    dialling::Interruption(interruption_.get()).raise();
}

void Copy::stop_waiting() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    heard_.notify_all();
}

std::vector<transfer::Change> Copy::take_changes(std::size_t most) {
    std::vector<transfer::Change> taken;
    {
        const std::lock_guard lock(mutex_);
        const auto end =
            changes_.begin() + static_cast<std::ptrdiff_t>(std::min(most, changes_.size()));
        taken.assign(std::make_move_iterator(changes_.begin()), std::make_move_iterator(end));
        changes_.erase(changes_.begin(), end);
    }
    heard_.notify_all();
    return taken;
}

void Copy::take_share(Result<session::Terms> terms) {
    {
        const std::lock_guard lock(mutex_);
        share_ = std::move(terms);
    }
    heard_.notify_all();
}

session::CopyStatus Copy::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

void Copy::run() {
    std::uint64_t seed = 0;
    io::fill_random(std::as_writable_bytes(std::span(&seed, 1)));
    dialling::Retry retry(task_.request.again, seed);
    dialling::Tries tries;
    mover::Outcome all;
    for (;;) {
        const auto outcome = attempt();
        if (outcome) tries.add(*outcome);
        tries.repeat();
        all = tries.all();
        if (!outcome) all.cut = outcome.error();
        if (!all.cut || !dialling::comes_back(*all.cut)) break;
        if (outcome) retry.stood(dialling::now(), dialling::moved_some(*outcome));
        const auto time = retry.pause(dialling::now());
        if (!time || dialling::Interruption(interruption_.get()).raised()) break;
        note(all.cut->sentence() + "; trying again in " + format_duration(*time));
        pause(*time);
    }
    result_ = result_of(all);
    {
        const std::lock_guard lock(mutex_);
        // What is said of a session is about no path; what is said in one is.
        result_.unreached =
            result_.cut && !tries.any() && status_.state == session::CopyState::dialling &&
            ((result_.cut->fault == Fault::session && result_.cut->side == Side::network) ||
             (dialling::says_later(*result_.cut) && result_.cut->path.empty()));
        if (result_.cut && cancelled_) {
            result_.cut = cancelled_;
            result_.unreached = false;
        }
        status_.state = end_state(result_);
        status_.bytes = result_.bytes + result_.bytes_kept;
        status_.total_bytes = std::max(status_.total_bytes, status_.bytes);
        status_.files = result_.files;
        const std::uint64_t known = result_.files + result_.adopted + result_.failed;
        status_.files_known = result_.cut ? std::max(status_.files_known, known) : known;
        status_.sent_packets = result_.sent_packets;
        status_.lost_packets = result_.lost_packets;
        status_.rate = bit_rate(result_.bytes, dialling::now() - began_);
        status_.standstill.clear();
    }
    task_.ended();
}

void Copy::pause(Duration time) {
    samples_.clear();
    enter(session::CopyState::dialling);
    rested_ = true;
    task_.rests();
    pollfd ends{.fd = interruption_.get(), .events = POLLIN, .revents = 0};
    dialling::poll_until({&ends, 1}, dialling::now() + time);
}

// After a rest.
Result<void> Copy::have_share() {
    if (!rested_) return {};
    task_.wakes();
    std::unique_lock lock(mutex_);
    heard_.wait(lock, [this] { return share_ || stopping_; });
    if (!share_) return cancelled_.value_or(Error{});
    auto terms = *std::exchange(share_, std::nullopt);
    if (!terms) return terms.error();
    rested_ = false;
    task_.request.terms = *std::move(terms);
    return {};
}

// Want of memory ends a try, and no other's work.
Result<mover::Outcome> Copy::attempt() {
    try {
        return perform();
    } catch (const std::bad_alloc&) {
        return io::no_memory("the copy cannot go on");
    }
}

Result<mover::Outcome> Copy::perform() {
    if (auto share = have_share(); !share) return share.error();
    const session::CopyRequest& request = task_.request;
    const bool fetches = request.terms.direction == session::Direction::get;
    auto connection = dialling::Connection::open({.server = {request.host, request.port},
                                                  .may_dial = task_.may_dial,
                                                  .trust = {.ca_file = {},
                                                            .pinned = request.peer,
                                                            .accept_unknown = false,
                                                            .certificate_file = {},
                                                            .key_file = {},
                                                            .identity = task_.identity},
                                                  .check_key = {},
                                                  .stripes = request.terms.stripes},
                                                 dialling::Interruption(interruption_.get()));
    if (!connection) return connection.error();
    (*connection)->expect_login(1, "run the same command again: it asks for a new grant");
    auto presented = (*connection)->send("GRANT", session::format_grant(request.grant));
    if (!presented) return presented.error();

    const std::string there = resolve("/", request.there);
    session::Offer offer{.terms = request.terms,
                         .nonce = {},
                         .several = !fetches && request.several,
                         .replaces = {},
                         .path = fetches ? std::string() : there};
    io::fill_random(offer.nonce);
    const auto agreement = dialling::agree(**connection, offer, there);
    if (!agreement) return agreement.error();
    const auto secret = dialling::transfer_secret(**connection, offer, *agreement);
    if (!secret) return secret.error();

    std::vector<mover::SourceName> sources;
    std::vector<transfer::WantRecord> wants;
    if (!request.names.empty()) {
        for (const std::string& name : request.names) {
            const std::uint16_t found = session::found_bytes(request.found, name);
            if (fetches) {
                wants.push_back({.name = session::path_in(there, name), .found = found});
            } else {
                std::string path = session::path_in(request.path, name);
                const std::size_t named =
                    found > 0 ? path.size() - std::min<std::size_t>(found, path.size())
                              : std::string::npos;
                sources.push_back({.path = std::move(path), .name = name, .named = named});
            }
        }
    } else if (fetches) {
        wants.push_back({.name = there, .pattern = false, .contents = request.contents});
    } else {
        const std::string name = base_name(request.path);
        sources.push_back({.path = request.path,
                           .name = request.contents || name.empty() ? "." : name,
                           .pattern = false});
    }
    auto loop = dialling::TransferLoop::make(
        **connection,
        {.terms = agreement->terms,
         .secret = *secret,
         .transfer = agreement->transfer,
         .is_client = true,
         .keep_names = transfer::NamesKept::none,
         .root = task_.root,
         .sources = std::move(sources),
         .wants = std::move(wants),
         .walk = task_.walk,
         .plan = task_.plan,
         .target = {.path = request.path, .into_directory = task_.into_directory},
         .only = {},
         .may_follow = true,
         .may_archive = true,
         .most_bytes = {},
         .local = (*connection)->local(),
         .peer = (*connection)->peer(),
         .ports = agreement->ports,
         .socket_buffer = task_.socket_buffer,
         .allow_uring = task_.allow_uring,
         .dial = {},
         .finished = {}},
        agreement->token, *this);
    if (!loop) return loop.error();
    if (!request.hours.stretches().empty()) {
        (*loop)->follow([&request] { return request.hours.at(dialling::minute_of_day()); });
    }
    enter(session::CopyState::moving);
    return (*loop)->run();
}

void Copy::enter(session::CopyState state) {
    {
        const std::lock_guard lock(mutex_);
        status_.state = state;
        status_.standstill.clear();
    }
    task_.moved();
}

// A client that does not read holds its sync up, as its terminal would hold up its own. That it is
// gone is seen by who looks.
void Copy::changed(const transfer::Change& change) {
    if (!task_.tells_changes) return;
    bool first = false;
    {
        std::unique_lock lock(mutex_);
        const auto go_on = [this] { return changes_.size() < kMostChanges || stopping_; };
        while (!heard_.wait_for(lock, kLookEvery, go_on)) {
            lock.unlock();
            task_.moved();
            lock.lock();
        }
        if (stopping_) return;
        first = changes_.empty();
        changes_.push_back(change);
    }
    if (first) task_.changed();
}

void Copy::note(const std::string& text) {
    io::log_warning("copy " + std::to_string(number_) + ": " + text);
}

void Copy::look(const mover::Progress& progress, Time now) {
    next_look_ = now + kLookEvery;
    samples_.push_back({now, progress.bytes});
    while (samples_.size() > 2 && samples_[1].at + kRateWindow <= now) samples_.pop_front();
    const Sample& first = samples_.front();
    {
        const std::lock_guard lock(mutex_);
        status_.bytes = progress.bytes;
        status_.total_bytes = progress.total_bytes;
        status_.files = progress.files_done;
        status_.files_known = progress.files_known;
        status_.sent_packets = progress.sent_packets;
        status_.lost_packets = progress.lost_packets;
        status_.rtt_us = static_cast<std::uint64_t>(progress.rtt_ms * 1e3);
        status_.rate = bit_rate(progress.bytes - first.bytes, now - first.at);
        status_.standstill = progress.standstill;
    }
    task_.moved();
}

}  // namespace lambda::server
