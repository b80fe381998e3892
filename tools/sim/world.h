// Virtual time: a clock, the events on it in the order of time, and one source of random numbers,
// so that a seed repeats a run to the byte. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "common/base/time.h"

namespace lambda::simulation {

class World;

// One action that is due at most once at a time; set earlier as often as one likes. Pinned.
class Alarm {
  public:
    Alarm(World& world, std::function<void()> action) : world_(world), action_(std::move(action)) {}
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    // Due at `time`, or when it was due already if that is earlier.
    void set(Time time);

  private:
    friend class World;
    World& world_;
    std::function<void()> action_;
    Time due_ = kNever;
};

class World {
  public:
    explicit World(std::uint64_t seed) : random_(seed) {}

    Time now() const { return now_; }
    void after(Duration delay, std::function<void()> action);
    // Runs the next event; false when there is none before `limit`, which is then the time.
    bool step(Time limit);

    bool chance(double probability) { return probability > 0 && uniform() < probability; }
    double uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
    // Between nothing and `most`.
    Duration uniform(Duration most) {
        return most.count() == 0 ? most : from_seconds(seconds(most) * uniform());
    }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  private:
    friend class Alarm;
    struct Event {
        Time time;
        std::uint64_t order;
        Alarm* alarm;        // or, where null,
        std::size_t action;  // an index
        bool operator<(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    void push(Time time, Alarm* alarm, std::size_t action);

    Time now_ = Time(std::chrono::hours(1));
    std::uint64_t order_ = 0;
    std::vector<Event> events_;  // a heap
    std::vector<std::function<void()>> actions_;
    std::vector<std::size_t> free_actions_;
    std::mt19937_64 random_;
};

}  // namespace lambda::simulation
