#include "common/io/disk/finisher.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <utility>

#include "common/io/clock.h"
#include "common/io/file/file_error.h"
#include "common/io/process.h"

namespace lambda::io {
namespace {

// Each thing in hand may hold two open, its file and the directory that it is the only one of; and
// as many again as are in hand may have their names and still hold their directories.
constexpr std::size_t kOfFilesToOpen = 6;

// Their data are durable, and one file on each file system is enough to flush their names.
void close_all_but_one(std::vector<Made>& named) {
    std::set<dev_t> held;
    for (Made& made : named) {
        if (made.opened && !held.insert(made.device).second) made.opened = {};
    }
}

}  // namespace

std::atomic<std::size_t> Finisher::in_hand_ = 0;

Finisher::Finisher(const Root& root, Done done, Lost lost)
    : root_(root),
      done_(std::move(done)),
      lost_(std::move(lost)),
      most_in_hand_(files_to_open() / kOfFilesToOpen) {}

Result<std::unique_ptr<Finisher>> Finisher::make(const Root& root, Done done, Lost lost) {
    std::unique_ptr<Finisher> finisher(new Finisher(root, std::move(done), std::move(lost)));
    auto flusher = start_thread([all = finisher.get()] { all->flush_all(); });
    if (!flusher) return flusher.error();
    finisher->flusher_thread_ = *std::move(flusher);
    auto namer = start_thread([all = finisher.get()] { all->name_all(); });
    if (!namer) return namer.error();
    finisher->namer_thread_ = *std::move(namer);
    return finisher;
}

Finisher::~Finisher() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    more_.notify_one();
    if (flusher_thread_.joinable()) flusher_thread_.join();
    {
        const std::lock_guard lock(mutex_);
        all_flushed_ = true;
    }
    flushed_more_.notify_one();
    if (namer_thread_.joinable()) namer_thread_.join();
}

void Finisher::put(Made made) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return has_room(); });
    waiting_.push_back(std::move(made));
    ++in_hand_;
    ++came_;
    if (waiting_.size() == 1 || waiting_.size() == kBatch || !has_room()) more_.notify_one();
}

// Who waits for room has some waiting himself, and is woken when they are taken.
bool Finisher::has_room() const {
    return waiting_.size() < kFewestWaiting ||
           (waiting_.size() < kMostWaiting && in_hand_ < most_in_hand_);
}

void Finisher::flush_all() {
    for (Batch batch = take(); !batch.empty(); batch = take()) finish(std::move(batch));
}

// Empty: that was all.
Finisher::Batch Finisher::take() {
    std::unique_lock lock(mutex_);
    more_.wait(lock,
               [this] { return !waiting_.empty() || !named_.empty() || (stopping_ && !naming_); });
    gather(lock);
    Batch batch{.fresh = std::exchange(waiting_, {}), .named = std::exchange(named_, {})};
    room_.notify_one();
    return batch;
}

// Until a batch is full, or no more comes. A few are not worth a wait, and who waits for one file
// does not want it.
void Finisher::gather(std::unique_lock<std::mutex>& lock) {
    const auto may_wait = [this] {
        return !stopping_ && waiting_.size() >= Flusher::kFewestShared &&
               waiting_.size() < kBatch && has_room();
    };
    const Time until = Clock().now() + kLongestWait;
    for (std::uint64_t seen = 0; may_wait() && seen != came_ && Clock().now() < until;) {
        seen = came_;
        more_.wait_for(lock, kPause, [&] { return !may_wait(); });
    }
}

void Finisher::finish(Batch batch) {
    std::size_t held = batch.fresh.size();
    try {
        finish_whole(batch.fresh);
        const Flusher::Outcome outcome = flusher_.flush(batch.fresh, batch.named);
        fail_if(batch.fresh, outcome.fresh, "cannot flush");
        fail_if(batch.named, outcome.named, kNamedNotFlushed);
        in_hand_ -= held - batch.fresh.size();
        held = batch.fresh.size();
        for (const Made& made : batch.named) done_(made, std::nullopt);
        if (!batch.fresh.empty()) hand_over(std::move(batch.fresh));
    } catch (const std::bad_alloc&) {
        in_hand_ -= held;
        lost_();
    }
}

void Finisher::hand_over(std::vector<Made> flushed) {
    std::unique_lock lock(mutex_);
    flushed_room_.wait(lock, [this] { return flushed_.empty(); });
    flushed_ = std::move(flushed);
    naming_ = true;
    flushed_more_.notify_one();
}

void Finisher::name_all() {
    while (auto flushed = take_flushed()) name(*std::move(flushed));
}

void Finisher::name(std::vector<Made> flushed) {
    std::size_t held = flushed.size();
    try {
        read_back_all(flushed);
        give_names(flushed);
        close_all_but_one(flushed);
        in_hand_ -= std::exchange(held, 0);
        hand_back(std::move(flushed));
    } catch (const std::bad_alloc&) {
        in_hand_ -= held;
        hand_back({});
        lost_();
    }
}

std::optional<std::vector<Made>> Finisher::take_flushed() {
    std::unique_lock lock(mutex_);
    flushed_more_.wait(lock, [this] { return all_flushed_ || !flushed_.empty(); });
    if (flushed_.empty()) return std::nullopt;
    flushed_room_.notify_one();
    return std::exchange(flushed_, {});
}

void Finisher::hand_back(std::vector<Made> named) {
    const std::lock_guard lock(mutex_);
    std::move(named.begin(), named.end(), std::back_inserter(named_));
    naming_ = !flushed_.empty();
    more_.notify_one();
}

// What differs is mended; what cannot be is no file.
void Finisher::read_back_all(std::vector<Made>& flushed) {
    std::erase_if(flushed, [&](Made& made) {
        if (!made.to_read_back) return false;
        const auto proved = read_back(*made.to_read_back);
        if (!proved) fail(made, proved.error());
        return !proved;
    });
}

// What is in no directory is done with that.
void Finisher::give_names(std::vector<Made>& flushed) {
    const bool moved = root_.moved();
    std::erase_if(flushed, [&](Made& made) {
        if (moved) {
            fail(made, root_moved(made.path));
            return true;
        }
        const int error = made.give_name();
        if (error != 0)
            fail(made, file_error("cannot give the file its name", made.path, error));
        else if (!made.directory)
            done_(made, std::nullopt);
        return error != 0 || !made.directory;
    });
}

void Finisher::finish_whole(std::vector<Made>& fresh) {
    std::erase_if(fresh, [&](Made& made) {
        if (made.whole == nullptr) return false;
        Result<bool> committed = true;
        if (made.to_read_back) {
            const auto proved = read_back(*made.to_read_back);
            if (!proved) committed = proved.error();
        }
        if (committed) committed = commit(*made.whole, made.metadata);
        made.unowned = committed && !*committed;
        // Closed, and its partial file removed after an error, before anybody hears of it.
        made.whole.reset();
        done_(made, committed ? std::optional<Error>() : committed.error());
        return true;
    });
}

// The partial file is gone before anybody hears of it.
void Finisher::fail(Made& made, Error error) {
    made.abandon();
    done_(made, std::move(error));
}

void Finisher::fail_if(std::vector<Made>& all, const std::vector<int>& errors, const char* what) {
    auto error = errors.begin();
    std::erase_if(all, [&](Made& made) {
        const int number = *error++;
        if (number != 0) fail(made, file_error(what, made.path, number));
        return number != 0;
    });
}

}  // namespace lambda::io
