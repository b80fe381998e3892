#include "client/replicate/lanes.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <new>

#include "common/base/units.h"
#include "common/io/process.h"

namespace lambda::client::replicate {

using std::chrono::milliseconds;

LocalTime local_time() {
    const std::time_t time = std::time(nullptr);
    std::tm here{};
    ::localtime_r(&time, &here);
    return {.day = (here.tm_wday + 6) % 7,
            .second = std::min((here.tm_hour * 60 + here.tm_min) * 60 + here.tm_sec, 86399)};
}

namespace {

std::string words_of(Work::Kind kind, const mover::Progress& progress) {
    switch (kind) {
        case Work::Kind::scan:
            return "lists the sources";
        case Work::Kind::look:
            return "lists what stands there";
        case Work::Kind::check:
            return "looks again at what was begun";
        case Work::Kind::carry:
            break;
    }
    if (progress.files_known == 0 && progress.standstill.empty()) return {};
    std::string text = std::to_string(progress.files_done) + " of " +
                       std::to_string(progress.files_known) + " files, " +
                       format_size(progress.bytes) + " of " + format_size(progress.total_bytes);
    // Of several it is the one that was opened last: many are under way.
    if (progress.files_known == 1 && !progress.current_name.empty())
        text += " " + progress.current_name;
    if (!progress.standstill.empty()) text += ", nothing moves: " + progress.standstill;
    return text;
}

}  // namespace

Lanes::Lanes(const Job& job, const Carrier& carrier, io::Descriptor event)
    : job_(job),
      carrier_(carrier),
      event_(std::move(event)),
      began_(std::chrono::floor<milliseconds>(std::chrono::system_clock::now())),
      began_here_(client::now()) {}

Result<std::unique_ptr<Lanes>> Lanes::make(const Job& job, const Carrier& carrier) {
    io::Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return errno_error(Fault::cut, "cannot make an eventfd", {}, errno);
    std::unique_ptr<Lanes> lanes(new Lanes(job, carrier, std::move(event)));
    for (std::size_t i = 0; i < job.lanes; ++i) {
        Lane& lane = *lanes->lanes_.emplace_back(std::make_unique<Lane>());
        lane.interruption = io::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!lane.interruption) return errno_error(Fault::cut, "cannot make an eventfd", {}, errno);
        auto thread = io::start_thread([self = lanes.get(), &lane] { self->run(lane); });
        if (!thread) return thread.error();
        lane.thread = *std::move(thread);
    }
    return lanes;
}

void Lanes::interrupt(const Lane& lane) {
    dialling::Interruption(lane.interruption.get()).raise();
}

Lanes::~Lanes() {
    for (const auto& lane : lanes_) {
        interrupt(*lane);
        {
            const std::lock_guard lock(lane->mutex);
            lane->ending = true;
        }
        lane->more.notify_one();
    }
    for (const auto& lane : lanes_) {
        if (lane->thread.joinable()) lane->thread.join();
    }
}

WallTime Lanes::now() const {
    return began_ + std::chrono::floor<milliseconds>(client::now() - began_here_);
}

bool Lanes::interrupted() const {
    return client::interrupted();
}

void Lanes::start(Work work) {
    const auto lane =
        std::find_if(lanes_.begin(), lanes_.end(), [](const auto& each) { return !each->busy; });
    LAMBDA_ASSERT(lane != lanes_.end());
    Lane& taken = **lane;
    taken.busy = true;
    taken.stopped = false;
    taken.lease = work.load.lease;
    taken.site = work.load.site;
    taken.kind = work.kind;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(taken.interruption.get(), &count, sizeof count);
    ++busy_;
    {
        const std::lock_guard lock(taken.mutex);
        taken.progress = {};
        taken.work = std::move(work);
    }
    taken.more.notify_one();
}

void Lanes::stop() {
    for (const auto& lane : lanes_) {
        if (lane->busy) stop(*lane);
    }
}

void Lanes::stop(Work::Kind kind) {
    for (const auto& lane : lanes_) {
        if (lane->busy && lane->kind == kind) stop(*lane);
    }
}

void Lanes::stop(std::int64_t lease) {
    for (const auto& lane : lanes_) {
        if (lane->busy && lane->lease == lease) stop(*lane);
    }
}

void Lanes::stop(Lane& lane) {
    lane.stopped = true;
    interrupt(lane);
}

std::vector<Done> Lanes::take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
    std::vector<Done> all;
    for (const auto& lane : lanes_) {
        const std::lock_guard lock(lane->mutex);
        if (!lane->done) continue;
        lane->done->stopped = lane->stopped;
        all.push_back(*std::move(lane->done));
        lane->done.reset();
        lane->busy = false;
        --busy_;
    }
    return all;
}

std::string Lanes::doing() const {
    std::string text;
    for (const auto& lane : lanes_) {
        if (!lane->busy) continue;
        const std::lock_guard lock(lane->mutex);
        const std::string words = words_of(lane->kind, lane->progress);
        if (words.empty()) continue;
        if (!text.empty()) text += "; ";
        if (job_.sites.size() > 1 && lane->kind != Work::Kind::scan)
            text += job_.sites[lane->site].text + ": ";
        text += words;
    }
    return text;
}

void Lanes::wait(WallTime until) {
    pollfd events[] = {{.fd = event_.get(), .events = POLLIN, .revents = 0},
                       {.fd = client::interruption().fd(), .events = POLLIN, .revents = 0}};
    // Who was interrupted waits for his lanes alone.
    const std::size_t ears = interrupted() ? 1 : 2;
    poll_until(std::span(events, ears), client::now() + (until - now()));
}

void Lanes::run(Lane& lane) {
    adopt_interruption(dialling::Interruption(lane.interruption.get()));
    while (true) {
        std::unique_lock lock(lane.mutex);
        lane.more.wait(lock, [&] { return lane.work || lane.ending; });
        if (lane.ending) return;
        Work work = *std::move(lane.work);
        lane.work.reset();
        lock.unlock();
        Done done = perform(lane, std::move(work));
        lock.lock();
        lane.done = std::move(done);
        lock.unlock();
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
    }
}

namespace {

// One piece of work that wants more memory than there is, is not the end of the others.
template <typename Piece>
auto within_memory(const Piece& piece) -> decltype(piece()) {
    try {
        return piece();
    } catch (const std::bad_alloc&) {
        return io::no_memory("a piece of the job cannot go on");
    }
}

}  // namespace

Done Lanes::perform(Lane& lane, Work work) const {
    const Load& load = work.load;
    const auto progressed = [&lane](const mover::Progress& progress) {
        const std::lock_guard lock(lane.mutex);
        lane.progress = progress;
    };
    switch (work.kind) {
        case Work::Kind::scan: {
            auto result = within_memory([&] { return carrier_.scan(); });
            return {.work = std::move(work), .result = std::move(result)};
        }
        case Work::Kind::look: {
            auto result = within_memory([&] { return carrier_.look(load, *work.source); });
            return {.work = std::move(work), .result = std::move(result)};
        }
        case Work::Kind::check: {
            auto result = within_memory([&] { return carrier_.check(load); });
            return {.work = std::move(work), .result = std::move(result)};
        }
        case Work::Kind::carry: {
            auto result = within_memory([&] { return carrier_.carry(load, progressed); });
            return {.work = std::move(work), .result = std::move(result)};
        }
    }
    LAMBDA_ASSERT(false);
}

}  // namespace lambda::client::replicate
