// Carries packets between the hosts' TUN devices as the path has it: reads what the hosts sent,
// lets the two directions move, writes what has arrived. Packets of one burst that arrive together
// are written as one again. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/time.h"
#include "common/io/clock.h"
#include "tools/lab/arena.h"
#include "tools/lab/burst.h"
#include "tools/lab/counters.h"
#include "tools/lab/flow_table.h"
#include "tools/lab/host.h"
#include "tools/lab/link.h"
#include "tools/lab/timetable.h"

namespace lambda::lab {

class Forwarder {
  public:
    Forwarder(Time now, const PathSpec& path, std::vector<Host>& hosts, Arena& arena,
              std::uint64_t seed);

    // Counters begin.
    void begin(Time now);
    // Until then the path is what it is without its timetable.
    void begin_timetable(Time now) { timetable_ = Timetable(now, path_.timetable); }
    Counters counters(Time now);
    // Since begin(), for a series over time.
    LinkCounters forward(Time now) { return forward_.counters(now); }
    LinkCounters backward(Time now) { return backward_.counters(now); }
    // All that there were since the lab began.
    const FlowTable& forward_flows() const { return forward_flows_; }
    const FlowTable& backward_flows() const { return backward_flows_; }

    // Takes what a host sent, up to a bound. False: nothing was there.
    bool fetch(std::size_t host);
    // Delivers what is due.
    void deliver();
    // When there is something to deliver or to change.
    Time next_due() const;

  private:
    // Packets to one host that are written together.
    struct Run {
        Burst* burst = nullptr;
        unsigned first = 0, count = 0;
        std::uint8_t to = 0;
    };

    void admit(std::size_t from, std::byte* place, std::size_t bytes);
    std::size_t host_at(std::optional<HostNumber> number) const;
    void change_until(Time now);
    void deliver(Link& link);
    bool extend(const Packet& packet);
    void flush();
    void write(const Run& run);

    std::vector<Host>& hosts_;
    Arena& arena_;
    const PathSpec path_;
    io::Clock clock_;
    Link forward_, backward_;
    FlowTable forward_flows_, backward_flows_;
    Timetable timetable_;
    std::vector<std::uint8_t> places_;  // each host's among those of its end
    std::vector<std::uint8_t> left_, right_;
    std::vector<std::byte> scratch_;  // where what has no room is read to
    Run run_;
    Counters counters_;  // without those of the links; at begin() what to subtract
    Time began_{};
};

}  // namespace lambda::lab
