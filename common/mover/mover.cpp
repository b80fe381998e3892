#include "common/mover/mover.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <thread>

#include "common/base/assert.h"
#include "common/engine/receive_side.h"
#include "common/engine/send_side.h"
#include "common/io/cipher/packet_cipher.h"
#include "common/io/cipher/random.h"
#include "common/io/clock.h"
#include "common/io/disk/content_reader.h"
#include "common/io/disk/disk.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/reactor.h"
#include "common/io/tree/target_tree.h"
#include "common/io/tree/tree_walker.h"
#include "common/mover/change_log.h"
#include "common/mover/join_mailbox.h"
#include "common/mover/sockets.h"
#include "common/receipt/account.h"

namespace lambda::mover {
namespace {

constexpr Duration kProgressEvery = std::chrono::milliseconds(50);
constexpr Duration kLookEvery = std::chrono::milliseconds(1);
// Dials that fail, with no stripe ever standing, before the transfer is given up.
constexpr unsigned kMostFailedDials = 12;
constexpr unsigned kFailuresOfAStripe = 3;  // all of them dial at once
// A socket takes what arrives at 25 Gbit/s while all that may be is written into memory (1.2 ms).
constexpr std::uint64_t kHoldsWrites = 4 << 20;

Result<std::vector<engine::StripeCiphers>> make_ciphers(const Setup& setup) {
    std::vector<engine::StripeCiphers> ciphers;
    for (std::uint16_t stripe = 0; stripe < setup.terms.stripes; ++stripe) {
        io::CipherSpec spec{.protection = static_cast<std::uint8_t>(setup.terms.protection),
                            .cipher = static_cast<std::uint8_t>(setup.terms.cipher),
                            .secret = setup.secret,
                            .stripe = stripe,
                            .direction = io::FlowDirection::data};
        auto data = io::make_packet_cipher(spec);
        if (!data) return data.error();
        spec.direction = io::FlowDirection::reverse;
        auto reverse = io::make_packet_cipher(spec);
        if (!reverse) return reverse.error();
        ciphers.push_back({std::move(*data), std::move(*reverse)});
    }
    return ciphers;
}

bool sends(const Setup& setup) {
    return (setup.terms.direction == session::Direction::put) == setup.is_client;
}

}  // namespace

struct Mover::State {
    explicit State(Setup given) : setup(std::move(given)) {}

    Setup setup;
    io::Clock clock;
    std::unique_ptr<io::Reactor> reactor;
    Sockets sockets;
    std::unique_ptr<ports::Disk> disk;
    std::unique_ptr<ports::Walker> walker;
    std::unique_ptr<ports::TargetTree> target_tree;
    std::unique_ptr<ports::ContentReader> content_reader;
    std::unique_ptr<ChangeLog> changes;
    std::unique_ptr<receipt::Account> account;
    std::unique_ptr<JoinMailbox> joins;
    std::vector<engine::StripeCiphers> ciphers;
    std::vector<std::string> notes;

    std::unique_ptr<engine::End> end;  // engine thread, and after it
    std::thread thread;
    std::atomic<bool> stopping{false};
    std::atomic<bool> peer_ended{false};
    std::atomic<bool> joined{false};
    std::atomic<double> limit{0};  // bits a second
    std::atomic<unsigned> failed_dials{0};
    mutable std::mutex mutex;  // of the three below
    std::optional<Error> stop_reason;
    Progress progress;
    Outcome outcome;

    engine::Setup engine_setup();  // once: the ciphers go with it
    void run();
    void move();
    void publish();
};

engine::Setup Mover::State::engine_setup() {
    engine::Setup given;
    given.terms = setup.terms;
    given.is_client = setup.is_client;
    // Who wants a receipt, or to measure, leaves only after the other end has heard all: its last
    // figures come with its last word.
    given.says_goodbye = setup.is_client && !setup.terms.receipt && !setup.keep_series;
    given.peer = setup.peer;
    given.peer_ports = setup.ports;
    given.sources = setup.sources;
    given.wants = setup.wants;
    given.walk = setup.walk;
    given.plan = setup.plan;
    given.done_before = setup.done_before;
    given.target = setup.target;
    given.only = setup.only;
    given.may_follow = setup.may_follow;
    given.may_archive = setup.may_archive;
    given.most_bytes = setup.most_bytes;
    given.only_plan = setup.only_plan;
    given.keep_names = setup.keep_names;
    given.keep_series = setup.keep_series;
    io::fill_random(std::as_writable_bytes(std::span(&given.seed, 1)));
    given.fill_random = io::fill_random;
    given.clock = &clock;
    given.disk = disk.get();
    given.walker = walker.get();
    given.target_tree = target_tree.get();
    given.content_reader = content_reader.get();
    given.changes = changes.get();
    given.records = account.get();
    given.feedback = joins.get();
    for (const auto& socket : sockets.list) given.sockets.push_back(socket.get());
    given.ciphers = std::move(ciphers);
    return given;
}

Result<std::unique_ptr<Mover>> Mover::make(Setup setup) {
    auto state = std::make_unique<State>(std::move(setup));
    auto reactor = io::Reactor::make();
    if (!reactor) return reactor.error();
    state->reactor = std::move(*reactor);
    auto sockets = open_sockets(state->setup, *state->reactor);
    if (!sockets) return sockets.error();
    state->sockets = std::move(*sockets);
    if (!state->sockets.note.empty()) state->notes.push_back(state->sockets.note);
    auto disk = io::make_disk({.memory_bytes = state->setup.terms.memory,
                               .block_bytes = state->setup.terms.block,
                               .allow_uring = state->setup.allow_uring,
                               .copies_writes = state->sockets.buffer_bytes >= kHoldsWrites,
                               .range = state->setup.range,
                               .claim = std::move(state->setup.claim)},
                              state->setup.root, *state->reactor);
    if (!disk) return disk.error();
    state->disk = std::move(*disk);
    if (sends(state->setup)) {
        auto walker = io::TreeWalker::make(state->setup.root, *state->reactor);
        if (!walker) return walker.error();
        state->walker = *std::move(walker);
    } else {
        auto tree = io::TargetTree::make(state->setup.root, *state->reactor);
        if (!tree) return tree.error();
        state->target_tree = *std::move(tree);
    }
    auto reader = io::ContentReader::make(state->setup.root, *state->reactor);
    if (!reader) return reader.error();
    state->content_reader = *std::move(reader);
    if (state->setup.plan.whole) state->changes = std::make_unique<ChangeLog>(*state->reactor);
    if (state->setup.terms.receipt)
        state->account =
            std::make_unique<receipt::Account>(!sends(state->setup), state->setup.receipt_lines);
    auto ciphers = make_ciphers(state->setup);
    if (!ciphers) return ciphers.error();
    state->ciphers = std::move(*ciphers);
    state->joins = std::make_unique<JoinMailbox>(*state->reactor, state->setup.dial);
    return std::unique_ptr<Mover>(new Mover(std::move(state)));
}

Mover::Mover(std::unique_ptr<State> state) : state_(std::move(state)) {}

Mover::~Mover() {
    stop(Error{.fault = Fault::cut,
               .message = "the transfer was given up",
               .path = {},
               .side = Side::local,
               .remedy = {}});
    if (state_->thread.joinable()) state_->thread.join();
}

const std::vector<std::uint16_t>& Mover::ports() const {
    return state_->sockets.ports;
}
const std::vector<std::string>& Mover::notes() const {
    return state_->notes;
}

Result<void> Mover::start() {
    LAMBDA_ASSERT(!state_->thread.joinable());
    auto thread = io::start_thread([state = state_.get()] { state->run(); });
    if (!thread) return thread.error();
    state_->thread = *std::move(thread);
    return {};
}

// One transfer's want of memory is not the end of the others in this process.
void Mover::State::run() {
    io::take_short_slices();
    try {
        move();
    } catch (const std::bad_alloc&) {
        end.reset();  // what it holds may be what is missing
        const std::lock_guard lock(mutex);
        outcome.cut = io::no_memory("the transfer cannot go on");
    }
    // Connections, files and memory go with the engine's ports, before anybody hears of the end.
    end.reset();
    walker.reset();
    target_tree.reset();
    content_reader.reset();
    disk.reset();
    sockets.list.clear();
    if (setup.finished) setup.finished();
}

void Mover::State::move() {
    Time now = clock.now();
    if (sends(setup)) {
        end = std::make_unique<engine::SendSide>(engine_setup(), now);
    } else {
        end = std::make_unique<engine::ReceiveSide>(engine_setup(), now);
    }
    Time publish_at = now, look_at = now;
    const bool several = io::usable_processors() > 1;
    while (!end->done()) {
        now = clock.now();
        if (stopping.load(std::memory_order_acquire)) {
            const std::lock_guard lock(mutex);
            end->cut(*stop_reason);
            break;
        }
        if (reactor->work_lost()) {
            end->cut(io::no_memory("the transfer cannot go on"));
            break;
        }
        if (peer_ended.load(std::memory_order_relaxed)) end->peer_ended();
        end->set_limit(BitRate{limit.load(std::memory_order_relaxed)});
        const Time next = end->turn(now);
        if (now >= publish_at) {
            publish();
            publish_at = now + kProgressEvery;
        }
        // An end that always has more to do hears of its connections by this alone, too.
        if (!end->done() && (next > now || now >= look_at)) {
            // The other end, on this processor, could not do what is waited for.
            reactor->set_eager(several && end->tight());
            reactor->wait(std::min(next, publish_at));
            look_at = now + kLookEvery;
        }
    }
    publish();
    {
        const std::lock_guard lock(mutex);
        outcome = end->outcome();
        if (account) outcome.receipt = account->finish();
    }
}

void Mover::State::publish() {
    Progress now = end->progress();
    const std::lock_guard lock(mutex);
    now.bytes = std::max(now.bytes, progress.bytes);  // what has to come again came once
    progress = std::move(now);
}

void Mover::join(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream stream) {
    state_->joined = true;
    state_->joins->put(stripe, epoch, std::move(stream));
}

void Mover::failed_dial(Error error) {
    // Once a stripe stood, the engine waits for it to come back, and the control session knows of a
    // server that is gone.
    const unsigned most =
        std::max(kMostFailedDials, kFailuresOfAStripe * state_->setup.terms.stripes);
    if (!state_->joined && ++state_->failed_dials >= most) stop(std::move(error));
}

void Mover::peer_ended() {
    state_->peer_ended.store(true, std::memory_order_relaxed);
    state_->reactor->wake();
}

void Mover::set_limit(BitRate limit) {
    state_->limit.store(limit.bits_per_second, std::memory_order_relaxed);
    state_->reactor->wake();
}

void Mover::stop(Error why) {
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->stop_reason) state_->stop_reason = std::move(why);
    }
    state_->stopping.store(true, std::memory_order_release);
    state_->reactor->wake();
}

Progress Mover::progress() const {
    const std::lock_guard lock(state_->mutex);
    return state_->progress;
}

std::vector<transfer::Change> Mover::take_changes() {
    return state_->changes ? state_->changes->take() : std::vector<transfer::Change>{};
}

const Outcome& Mover::outcome() const {
    return state_->outcome;
}

}  // namespace lambda::mover
