#include "common/engine/links.h"

#include <algorithm>
#include <utility>

#include "common/base/assert.h"

namespace lambda::engine {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(500);
constexpr Duration kLongestPause = std::chrono::seconds(8);
constexpr Duration kLeastPatience = std::chrono::seconds(1);
constexpr int kReadsInTurn = 4;

}  // namespace

Links::Links(ports::FeedbackSource& source, std::uint16_t stripes, bool dials)
    : source_(source), dials_(dials), links_(stripes) {}

void Links::poll(Time now, Handler& handler) {
    if (!begun_) {
        begun_ = true;
        dead_since_ = now;
    }
    while (auto joined = source_.poll()) {
        if (joined->stripe >= links_.size()) continue;
        Link& link = links_[joined->stripe];
        if (joined->epoch <= link.epoch) continue;  // an older one that came late
        const bool again = link.epoch > 0;
        link.channel = std::move(joined->channel);
        link.framer = sabul::Framer();
        link.waiting.clear();
        link.epoch = joined->epoch;
        link.dialled = std::max(link.dialled, link.epoch);
        link.heard = now;
        link.silent = false;
        link.pause = Duration{0};
        dead_since_ = kNever;
        handler.on_link(joined->stripe, again);
    }
    more_ = false;
    for (std::uint16_t stripe = 0; stripe < links_.size(); ++stripe) {
        Link& link = links_[stripe];
        const bool stood = link.channel != nullptr;
        if (stood) read(stripe, now, handler);
        const bool silent = stood && now - link.heard > link.patience;
        if (silent && !std::exchange(link.silent, true)) handler.on_link_silent(stripe);
        // One that ended just now may have said that all is done: the next poll dials it.
        if (dials_ && (!stood || silent) && now >= link.dial_again) dial(stripe, now);
    }
}

void Links::read(std::uint16_t stripe, Time now, Handler& handler) {
    Link& link = links_[stripe];
    bool sound = true;
    for (int reads = 0; sound; ++reads) {
        if (reads == kReadsInTurn) {
            more_ = true;
            break;
        }
        const ByteView bytes = link.channel->receive();
        if (bytes.empty()) break;
        link.heard = now;
        link.silent = false;
        link.framer.put(bytes);
        while (const auto frame = link.framer.next()) {
            if (!handler.on_frame(stripe, *frame)) {
                sound = false;
                break;
            }
        }
        sound = sound && !link.framer.broken();
    }
    if (!sound || !link.channel->alive()) return drop(stripe, now, handler);
    ready(stripe);
}

void Links::drop(std::uint16_t stripe, Time now, Handler& handler) {
    links_[stripe].channel.reset();
    if (!any_alive()) dead_since_ = now;
    handler.on_link_lost(stripe);
}

void Links::dial(std::uint16_t stripe, Time now) {
    Link& link = links_[stripe];
    link.pause = link.pause.count() == 0 ? kFirstPause : std::min(2 * link.pause, kLongestPause);
    // The first dial has the patience of a slow handshake; a stripe that lives is dialled beside.
    link.dial_again = now + std::max(link.pause, link.patience);
    source_.dial(stripe, ++link.dialled);
}

void Links::set_patience(std::uint16_t stripe, Duration round_trip) {
    links_[stripe].patience = std::max(4 * round_trip, kLeastPatience);
}

std::uint16_t Links::primary() const {
    std::uint16_t lives = stripes();
    for (std::uint16_t stripe = 0; stripe < stripes(); ++stripe) {
        if (heard(stripe)) return stripe;
        if (alive(stripe)) lives = std::min(lives, stripe);
    }
    return lives;
}

bool Links::ready(std::uint16_t stripe) {
    Link& link = links_[stripe];
    if (link.channel == nullptr) return false;
    if (!link.waiting.empty() && link.channel->send(link.waiting)) link.waiting.clear();
    return link.waiting.empty();
}

void Links::send(std::uint16_t stripe, ByteView frames) {
    Link& link = links_[stripe];
    LAMBDA_ASSERT(link.channel != nullptr && link.waiting.empty());
    if (!link.channel->send(frames)) link.waiting.assign(frames.begin(), frames.end());
}

Time Links::next_time() const {
    if (more_) return Time{};
    Time next = kNever;
    if (!dials_) return next;
    for (const Link& link : links_) {
        const Time missing = link.channel == nullptr ? Time{} : link.heard + link.patience;
        next = std::min(next, std::max(missing, link.dial_again));
    }
    return next;
}

}  // namespace lambda::engine
