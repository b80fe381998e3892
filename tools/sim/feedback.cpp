#include "tools/sim/feedback.h"

#include <deque>
#include <map>
#include <vector>

namespace lambda::simulation {
namespace {

// Three later segments tell TCP of a loss; one leaves each SYN.
constexpr Duration kFound = std::chrono::milliseconds(30);

// What one end hands over and the other has not read yet.
struct Pipe {
    explicit Pipe(Alarm& its_reader) : reader(its_reader) {}
    Alarm& reader;
    std::vector<std::byte> arrived;
    std::vector<std::byte> given;
    Time last_due{};
    bool alive = true;
    bool stalled = false;
};

struct Way {
    World& world;
    Duration delay, jitter;
    double loss = 0;
    double room = 0;  // bytes a second; 0: any
    std::uint64_t segments = 0;
};

class PipeEnd final : public ports::FeedbackChannel {
  public:
    PipeEnd(Way& way, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
        : way_(way), in_(std::move(in)), out_(std::move(out)) {}
    ~PipeEnd() override {
        way_.world.after(way_.delay, [out = out_] {
            out->alive = false;
            out->reader.set(Time{});
        });
    }
    bool send(ByteView frame) override {
        if (out_->stalled)
            return stalled_bytes_ + frame.size() <= (256u << 10) &&
                   (stalled_bytes_ += frame.size(), true);
        ++way_.segments;
        const Time now = way_.world.now();
        const Duration again = way_.world.chance(way_.loss) ? 2 * way_.delay + kFound : Duration{0};
        leaves_ = std::max(now, leaves_);
        if (way_.room > 0) leaves_ += from_seconds(static_cast<double>(frame.size()) / way_.room);
        const Time due = std::max(leaves_ + way_.delay + again + way_.world.uniform(way_.jitter),
                                  out_->last_due);
        out_->last_due = due;
        way_.world.after(due - now,
                         [out = out_, bytes = std::vector<std::byte>(frame.begin(), frame.end())] {
                             if (out->stalled) return;
                             out->arrived.insert(out->arrived.end(), bytes.begin(), bytes.end());
                             out->reader.set(Time{});
                         });
        return true;
    }
    ByteView receive() override {
        in_->given = std::move(in_->arrived);
        in_->arrived.clear();
        return in_->given;
    }
    bool alive() const override { return in_->alive; }
    std::optional<Carriage> carriage() override { return Carriage{2 * way_.delay, way_.loss}; }
    std::size_t backlog() override {
        const Duration wait = std::max(Duration{0}, leaves_ - way_.world.now());
        return static_cast<std::size_t>(seconds(wait) * way_.room);
    }

  private:
    Way& way_;
    std::shared_ptr<Pipe> in_, out_;
    Time leaves_{};  // what was sent last
    std::size_t stalled_bytes_ = 0;
};

}  // namespace

struct VirtualFeedback::State {
    State(Way w, VirtualFeedback& o, Alarm& c, Alarm& s)
        : way(w), owner(o), client_alarm(c), server_alarm(s), client(*this), server(*this) {}
    struct ClientSource final : ports::FeedbackSource {
        explicit ClientSource(State& s) : state(s) {}
        std::optional<ports::Joined> poll() override { return state.take(state.to_client); }
        void dial(std::uint16_t stripe, std::uint32_t epoch) override { state.dial(stripe, epoch); }
        State& state;
    };
    struct ServerSource final : ports::FeedbackSource {
        explicit ServerSource(State& s) : state(s) {}
        std::optional<ports::Joined> poll() override { return state.take(state.to_server); }
        void dial(std::uint16_t, std::uint32_t) override {}
        State& state;
    };
    std::optional<ports::Joined> take(std::deque<ports::Joined>& queue) {
        if (queue.empty()) return std::nullopt;
        std::optional<ports::Joined> joined(std::move(queue.front()));
        queue.pop_front();
        return joined;
    }
    void dial(std::uint16_t stripe, std::uint32_t epoch) {
        ++dials;
        if (owner.refuse) return;
        // A TCP and a TLS handshake: two round trips; the server joins half a one earlier.
        way.world.after(3 * way.delay, [this, stripe, epoch] {
            auto up = std::make_shared<Pipe>(server_alarm);
            auto down = std::make_shared<Pipe>(client_alarm);
            pipes[stripe].push_back(up);
            pipes[stripe].push_back(down);
            to_server.push_back({stripe, epoch, std::make_unique<PipeEnd>(way, up, down)});
            server_alarm.set(Time{});
            way.world.after(way.delay, [this, stripe, epoch, up, down] {
                to_client.push_back({stripe, epoch, std::make_unique<PipeEnd>(way, down, up)});
                client_alarm.set(Time{});
            });
        });
    }
    Way way;
    VirtualFeedback& owner;
    Alarm &client_alarm, &server_alarm;
    ClientSource client;
    ServerSource server;
    std::deque<ports::Joined> to_client, to_server;
    std::map<std::uint16_t, std::vector<std::shared_ptr<Pipe>>> pipes;
    unsigned dials = 0;
};

VirtualFeedback::VirtualFeedback(World& world, Duration delay, Duration jitter, Alarm& client,
                                 Alarm& server)
    : state_(std::make_unique<State>(Way{world, delay, jitter}, *this, client, server)) {}
VirtualFeedback::~VirtualFeedback() = default;
ports::FeedbackSource& VirtualFeedback::client() {
    return state_->client;
}
ports::FeedbackSource& VirtualFeedback::server() {
    return state_->server;
}
void VirtualFeedback::set_delay(Duration delay) {
    state_->way.delay = delay;
}
void VirtualFeedback::set_loss(double share) {
    state_->way.loss = share;
}
void VirtualFeedback::set_room(double bytes_per_second) {
    state_->way.room = bytes_per_second;
}
void VirtualFeedback::cut(std::uint16_t stripe) {
    for (const auto& pipe : state_->pipes[stripe]) {
        pipe->alive = false;
        pipe->reader.set(Time{});
    }
}
void VirtualFeedback::stall(std::uint16_t stripe) {
    for (const auto& pipe : state_->pipes[stripe]) pipe->stalled = true;
}
unsigned VirtualFeedback::dials() const {
    return state_->dials;
}
std::uint64_t VirtualFeedback::segments() const {
    return state_->way.segments;
}

}  // namespace lambda::simulation
