// The default law over a fluid path of one bottleneck.
#include "common/sabul/congestion/sabul.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

// What one law sends through a queue: an ACK each 10 ms, losses where the queue is full.
class FluidPath {
  public:
    double capacity = 125e6;  // bytes a second
    Duration rtt = 50ms;
    double queue_limit = 6.25e6;
    double others_window = 0;  // bytes that others keep in flight
    double loss = 0;
    double drift = 0;
    Duration ahead{0};  // the receiver's clock
    bool limited = false;
    std::uint16_t stripes = 1;
    Time held_from{}, held_to{};              // the last stripe's feedback waits meanwhile
    Duration stands_every{0}, stands_for{0};  // all that comes meanwhile goes on at its end

    void run(Sabul& law, Duration span) {
        for (const Time end = now_ + span; now_ < end;) tick(law);
    }
    double queue() const { return queue_; }
    double highest_rate() const { return *std::max_element(rates_.begin(), rates_.end()); }
    // Of the last run's second half.
    double mean_rate() const {
        double sum = 0;
        for (std::size_t i = rates_.size() / 2; i < rates_.size(); ++i) sum += rates_[i];
        return sum / static_cast<double>(rates_.size() - rates_.size() / 2);
    }
    void forget() { rates_.clear(); }
    Time now() const { return now_; }

  private:
    struct Flight {
        Time sent;
        Duration arrived;
        Time told;
        double bytes, lost;
    };
    void tick(Sabul& law) {
        constexpr double kTick = 0.01;
        now_ += 10ms;
        double bytes = law.rate().bytes_per_second() * kTick;
        if (limited) bytes /= 4;
        const double all = bytes + others_window / (seconds(rtt) + queue_ / capacity) * kTick;
        const double over = std::max(0.0, queue_ + all - capacity * kTick - queue_limit);
        queue_ = std::max(0.0, queue_ + all - over - capacity * kTick);
        const double dropped = all > 0 ? over * bytes / all : 0;
        rates_.push_back((bytes - dropped) / kTick);
        const Duration one_way = rtt / 2 + from_seconds(queue_ / capacity);
        Time arrived = now_ + one_way;
        if (stands_every.count() > 0) {
            const Duration into = (arrived - kStart) % stands_every;
            if (into < stands_for) arrived += stands_for - into;
        }
        flights_.push_back(
            {now_,
             arrived.time_since_epoch() + from_seconds(seconds(arrived - kStart) * drift) + ahead,
             arrived + rtt / 2, bytes, dropped + (bytes - dropped) * loss});
        while (!flights_.empty() && flights_.front().told <= now_) {
            for (std::uint16_t i = 0; i + 1 < stripes; ++i) tell(law, flights_.front(), i);
            held_.push_back(flights_.front());
            flights_.pop_front();
        }
        if (now_ < held_from || now_ >= held_to) {
            for (const Flight& flight : held_) tell(law, flight, stripes - 1);
            held_.clear();
        }
        law.on_syn({.now = now_,
                    .elapsed = 10ms,
                    .rtt = rtt,
                    .min_rtt = rtt,
                    .packet_bytes = 1440,
                    .limited = limited});
    }
    void tell(Sabul& law, const Flight& flight, unsigned stripe) {
        const auto number = static_cast<std::uint16_t>(stripe);
        const double lost = flight.lost / 1440 / stripes + lost_left_;
        const auto packets = static_cast<std::uint64_t>(lost);
        lost_left_ = lost - std::floor(lost);
        if (packets > 0) {
            law.on_loss({.now = now_,
                         .stripe = number,
                         .packets = packets,
                         .first_sent = flight.sent,
                         .last_sent = flight.sent,
                         .rtt = rtt});
        }
        const auto bytes = static_cast<std::uint64_t>((flight.bytes - flight.lost) / stripes);
        const Passage passage{flight.sent, flight.arrived};
        law.on_ack({.now = now_,
                    .stripe = number,
                    .packets = bytes / 1440,
                    .bytes = bytes,
                    .passages = std::span(&passage, 1),
                    .rtt = rtt,
                    .latest_rtt = now_ - flight.sent,
                    .min_rtt = rtt});
    }

    Time now_ = kStart;
    double queue_ = 0;
    double lost_left_ = 0;
    std::deque<Flight> flights_, held_;
    std::vector<double> rates_;
};

}  // namespace

TEST_CASE("sabul: starts in a logarithmic number of round trips and fills the path") {
    Sabul law({.initial = BitRate{1e6}});
    FluidPath path;
    path.run(law, 12 * 50ms + 150ms);
    CHECK(path.highest_rate() > 0.9 * path.capacity);
    path.run(law, 20s);
    CHECK_FALSE(law.starting());
    CHECK(path.mean_rate() > 0.95 * path.capacity);
    CHECK(path.queue() < 0.005 * path.capacity);
}

TEST_CASE("sabul: the start sends no more than gets through once a queue is seen") {
    // From half the path, as a path that is known begins: 1.2 times it fills the queue for a round
    // trip, and not a multiple of that after it.
    for (const std::uint16_t stripes : {std::uint16_t{1}, std::uint16_t{4}}) {
        FluidPath path;
        path.rtt = 100ms;
        path.queue_limit = 12.5e6;
        path.stripes = stripes;
        Sabul law({.initial = BitRate{500e6}});
        double most = 0;
        for (int i = 0; i < 100; ++i) {
            path.run(law, 10ms);
            most = std::max(most, path.queue());
        }
        CHECK(!law.starting());
        CHECK(most < 0.5 * 12.5e6);
        path.forget();
        path.run(law, 2s);
        CHECK(path.mean_rate() > 0.95 * path.capacity);
    }
}

TEST_CASE("sabul: on a path that is known the start goes up to it, and little beyond") {
    const auto fill = [](double known) {
        FluidPath path;
        path.rtt = 200ms;
        path.queue_limit = 25e6;
        Sabul law({.initial = BitRate{500e6}, .known = BitRate{known}});
        double most = 0;
        for (int i = 0; i < 200; ++i) {
            path.run(law, 10ms);
            most = std::max(most, path.queue());
        }
        CHECK(!law.starting());
        path.forget();
        path.run(law, 2s);
        CHECK(path.mean_rate() > 0.95 * path.capacity);
        return most / path.queue_limit;
    };
    CHECK(fill(0) > 0.2);
    CHECK(fill(1e9) < 0.15);
    CHECK(fill(1.1e9) < 0.15);  // read too high
}

TEST_CASE("sabul: a known path that falters while it is gone up to is filled all the same") {
    for (const Duration from : {300ms, 400ms, 500ms, 600ms, 700ms}) {
        CAPTURE(from.count());
        FluidPath path;
        path.rtt = 200ms;
        path.queue_limit = 25e6;
        Sabul law({.initial = BitRate{500e6}, .known = BitRate{1e9}});
        path.run(law, from);
        path.capacity = 40e6;
        path.run(law, 120ms);
        path.capacity = 125e6;
        path.run(law, 1380ms - from);
        path.forget();
        path.run(law, 1s);
        CHECK(path.mean_rate() > 0.9 * path.capacity);
    }
}

TEST_CASE("sabul: a path that carries far more than what is known of it is filled as another") {
    Sabul law({.initial = BitRate{150e6}, .known = BitRate{300e6}});
    FluidPath path;
    path.run(law, 12 * 50ms + 150ms);
    CHECK(path.highest_rate() > 0.9 * path.capacity);
}

TEST_CASE("sabul: all stripes' first ACKs together raise the rate once") {
    FluidPath path;
    path.rtt = 100ms;
    path.stripes = 16;
    Sabul law({.initial = BitRate{10e6}});
    path.run(law, 150ms);
    CHECK(law.rate().bits_per_second > 2.3 * 10e6);
    CHECK(law.rate().bits_per_second < 2.5 * 10e6);
}

TEST_CASE("sabul: random loss is found to be none of its making") {
    for (const double loss : {1e-3, 1e-2, 5e-2}) {
        INFO(loss);
        Sabul law({.initial = BitRate{1e6}});
        FluidPath path;
        path.loss = loss;
        path.run(law, 30s);
        CHECK(path.mean_rate() > 0.93 * path.capacity);
        CHECK(law.ambient_loss() == Approx(loss).epsilon(0.2).margin(1e-3));
    }
}

TEST_CASE("sabul: loss of a tenth that half the rate does not end is none of its making") {
    Sabul law({.initial = BitRate{100e6}});
    FluidPath path;
    for (const double loss : {0.1, 0.15, 0.02, 0.1}) {
        path.loss = loss;
        path.run(law, 30s);
        path.forget();
        path.run(law, 30s);
        INFO(loss);
        CHECK(path.mean_rate() > 0.93 * path.capacity);
        CHECK(law.ambient_loss() == Approx(loss).epsilon(0.2).margin(5e-3));
    }
}

TEST_CASE("sabul: on a path that stands still now and then random loss reads as it is") {
    Sabul law({.initial = BitRate{100e6}});
    FluidPath path;
    path.stripes = 4;
    path.loss = 5e-2;
    path.stands_every = 700ms;
    path.stands_for = 60ms;
    path.run(law, 60s);
    CHECK(path.mean_rate() > 0.9 * path.capacity);
    CHECK(law.ambient_loss() == Approx(path.loss).epsilon(0.1));
}

TEST_CASE("sabul: a full queue without delay, loss alone, holds it") {
    Sabul law({.initial = BitRate{1e6}});
    FluidPath path;
    path.queue_limit = 1500;
    path.run(law, 30s);
    CHECK(path.mean_rate() > 0.9 * path.capacity);
    CHECK(law.rate().bytes_per_second() < 1.25 * path.capacity);
}

TEST_CASE("sabul: what the start's overflow lost does not cut the rate") {
    for (const Duration rtt : {100ms, 200ms}) {
        CAPTURE(rtt.count());
        Sabul law({.initial = BitRate{100e6}});
        FluidPath path;
        path.rtt = rtt;
        path.queue_limit = 0.2 * seconds(rtt) * path.capacity;
        while (law.starting()) path.run(law, 10ms);
        path.run(law, 3 * rtt / 2);  // the queue is emptied
        path.forget();
        path.run(law, 2 * rtt);
        CHECK(path.mean_rate() > 0.9 * path.capacity);
    }
}

TEST_CASE("sabul: a stripe whose feedback is held up still carries its share") {
    const auto four_stripes = [] {
        FluidPath path;
        path.rtt = 200ms;
        path.stripes = 4;
        return path;
    };
    SECTION("at the end of the start") {
        Sabul other({.initial = BitRate{1e6}});
        FluidPath heard = four_stripes();
        while (other.starting()) heard.run(other, 10ms);
        Sabul law({.initial = BitRate{1e6}});
        FluidPath path = four_stripes();
        path.held_from = heard.now() - 120ms;
        path.held_to = heard.now() + 200ms;
        while (law.starting()) path.run(law, 10ms);
        REQUIRE(path.now() >= heard.now());
        REQUIRE(path.now() < path.held_to);
        CHECK(law.rate().bytes_per_second() > 0.85 * other.rate().bytes_per_second());
    }
    SECTION("in the window, while others are heard") {
        Sabul law({.initial = BitRate{100e6}});
        FluidPath path = four_stripes();
        path.run(law, 10s);
        const double before = law.window();
        path.held_from = path.now();
        path.held_to = path.now() + 10s;
        path.run(law, 300ms);
        CHECK(law.window() > before + 0.9 * law.rate().bytes_per_second() * 0.3 / 4);
        path.run(law, 2s);  // it is dead
        CHECK(law.window() < 1.1 * before);
    }
}

TEST_CASE("sabul: after a silence it goes on from no more than it had, wherever it began") {
    Sabul law({.initial = BitRate{500e6}});
    FluidPath path;
    path.capacity = 6.25e6;
    path.queue_limit = 0.3e6;
    path.run(law, 10s);
    const double before = law.rate().bytes_per_second();
    REQUIRE(before < 1.5 * path.capacity);
    path.held_from = path.now();
    path.held_to = path.now() + 2s;
    path.run(law, 1990ms);
    REQUIRE_FALSE(law.starting());
    path.run(law, 20ms);
    CHECK(law.starting());
    CHECK(law.rate().bytes_per_second() < 3 * before);  // the start grows by 2.4
}

TEST_CASE("sabul: whatever the receiver's clock did, it follows the path") {
    const Duration stepped = GENERATE(-30s, 1h);
    const bool once = GENERATE(false, true);
    const double queue_limit = GENERATE(0.6e6, 1e3);
    CAPTURE(stepped, once, queue_limit);
    Sabul law({.initial = BitRate{100e6}});
    FluidPath path;
    path.capacity = 12.5e6;
    path.queue_limit = queue_limit;
    path.run(law, 20s);
    path.ahead = stepped;
    path.run(law, 10ms);
    if (once) path.ahead = 0s;
    path.run(law, 20s);
    path.capacity = 1.25e6;
    path.run(law, 10s);
    path.forget();
    path.run(law, 10s);
    CHECK(law.rate().bytes_per_second() < 1.2 * path.capacity);
    CHECK(path.mean_rate() > 0.8 * path.capacity);
}

TEST_CASE("sabul: the highest rate is kept, however few packets it is") {
    Sabul law({.initial = BitRate{500e6}, .highest = BitRate{50e3}});
    FluidPath path;
    for (int i = 0; i < 20; ++i) {
        path.run(law, 500ms);
        CHECK(law.rate().bits_per_second <= 50e3);
    }
}

TEST_CASE("sabul: a rate that is not used does not grow") {
    Sabul law({.initial = BitRate{400e6}});
    FluidPath path;
    path.limited = true;
    path.run(law, 5s);
    path.forget();
    const double before = law.rate().bytes_per_second();
    path.run(law, 20s);
    CHECK(law.rate().bytes_per_second() <= 1.05 * before);
}

TEST_CASE("sabul: a longer route is not taken for a queue for long") {
    Sabul law({.initial = BitRate{1e6}});
    FluidPath path;
    path.run(law, 10s);
    path.rtt = 100ms;
    path.run(law, 2s);
    CHECK(law.rate().bytes_per_second() > 0.85 * path.capacity);
}

// A path of 20 ms with 2.5 MB of queue, where somebody else keeps half a path more than it under
// way.
struct BesideRivals {
    FluidPath path;
    Sabul law{LawSettings{}};

    BesideRivals() {
        path.rtt = 20ms;
        path.queue_limit = 2.5e6;
        path.run(law, 13s);
    }
    double share() const { return law.rate().bytes_per_second() / path.capacity; }
    void run_until(auto found) {
        for (int i = 0; i < 1000 && !found(); ++i) {
            path.others_window = (i / 10 % 2 == 0 ? 4.1e6 : 3.7e6);
            path.run(law, 10ms);
        }
        REQUIRE(found());
    }
    void contend() {
        run_until([&] { return share() < 0.1; });
        run_until([&] { return share() > 0.35; });
    }
};

TEST_CASE("sabul: beside rivals it remembers what it got, whatever the queue says") {
    BesideRivals here;
    here.contend();
    // A window that loses stays where it is for seconds. The others need so little now that no
    // queue stands.
    here.path.loss = 0.01;
    here.path.run(here.law, 50ms);
    here.path.loss = 0;
    here.path.others_window = 1e6;
    double most = 0;
    for (int i = 0; i < 2000; ++i) {
        here.path.run(here.law, 10ms);
        most = std::max(most, here.share());
    }
    CHECK(most < 1.5);
}

TEST_CASE("sabul: a silence ends what it does beside rivals, too") {
    BesideRivals here;
    here.contend();
    const double before = here.law.rate().bytes_per_second();
    here.path.held_from = here.path.now();
    here.path.held_to = here.path.now() + 2s;
    here.path.run(here.law, 2010ms);
    CHECK(here.law.rate().bytes_per_second() < 0.7 * before);
}

TEST_CASE("sabul: clocks that drift apart") {
    for (const double drift : {50e-6, -50e-6}) {
        Sabul law({.initial = BitRate{1e6}});
        FluidPath path;
        path.drift = drift;
        path.run(law, 60s);
        CHECK(path.mean_rate() > 0.93 * path.capacity);
    }
}

TEST_CASE("background: a queue that stands for half a minute is not the path") {
    Sabul law({.initial = BitRate{100e6}, .competes = false});
    FluidPath path;
    path.run(law, 20s);
    CHECK(path.mean_rate() > 0.93 * path.capacity);
    path.rtt += 50ms;  // somebody's full queue is so much delay, whatever we do
    path.forget();
    path.run(law, 30s);
    CHECK(path.mean_rate() < 0.05 * path.capacity);
    path.rtt -= 50ms;
    path.forget();
    path.run(law, 20s);
    CHECK(path.mean_rate() > 0.93 * path.capacity);
}
