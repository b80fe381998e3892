#include "tools/lab/path.h"

#include <algorithm>

namespace lambda::lab {
namespace {

double most_bytes(const LinkSpec& link, const PathSpec& path, bool forward) {
    BitRate rate = link.impairments.rate;
    Duration delay = link.impairments.delay, jitter = link.impairments.jitter;
    Duration late = link.impairments.reorder.rate > 0 ? link.impairments.reorder.by : Duration{0};
    for (const Change& change : path.timetable) {
        if (!(forward ? change.forward : change.backward)) continue;
        rate = std::max(rate, change.rate.value_or(rate));
        delay = std::max(delay, change.delay.value_or(delay));
        jitter = std::max(jitter, change.jitter.value_or(jitter));
        if (change.reorder) late = std::max(late, change.reorder->by);
    }
    Duration left{0}, right{0};
    for (const HostSpec& host : path.hosts) {
        Duration& farthest = host.end == End::left ? left : right;
        farthest = std::max(farthest, host.delay);
    }
    return rate.bytes_per_second() * seconds(left + right + delay + jitter + late) +
           static_cast<double>(link.queue);
}

}  // namespace

Duration one_way(const LinkSpec& link, const HostSpec& left, const HostSpec& right) {
    return left.delay + link.impairments.delay + right.delay;
}

Duration mean_round_trip(const PathSpec& path) {
    Duration sum{0};
    std::int64_t pairs = 0;
    for (const HostSpec& left : path.hosts) {
        if (left.end != End::left) continue;
        for (const HostSpec& right : path.hosts) {
            if (right.end != End::right) continue;
            sum += one_way(path.forward, left, right) + one_way(path.backward, left, right);
            ++pairs;
        }
    }
    return pairs == 0 ? Duration{0} : sum / pairs;
}

double most_bytes_in_flight(const PathSpec& path) {
    return most_bytes(path.forward, path, true) + most_bytes(path.backward, path, false);
}

}  // namespace lambda::lab
