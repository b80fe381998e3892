// What held a transfer back: one cause, by what both ends measured of themselves, and what to
// change (docs/verdict.md). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/units.h"
#include "common/verdict/figures.h"

namespace lambda::verdict {

enum class Cause {
    too_short,  // to tell
    source_disk,
    sender_cpu,
    sender_stall,
    path_rate,
    path_loss,    // the law takes each loss for congestion, and the path was not full
    path_window,  // the window or the memory holds less than the path
    path_dead,    // nothing came across
    receive_buffer,
    receiver_cpu,
    receiver_stall,
    destination_disk,
    rate_limit,
    law,  // neither full path nor loss: it keeps its rate, or had not found it yet
};

// For programs: "path_rate"
const char* name_of(Cause cause);

// Whether the ring of this process could be larger.
struct RingRoom {
    std::uint64_t wanted = 0;  // bytes: what its --memory leaves for it; 0: not known
    std::uint64_t beyond = 0;  // what --memory has to be above for more; 0: none is larger
};

struct Evidence {
    Figures sender, receiver;
    bool sender_here = true;       // else the receiver is here
    bool between_servers = false;  // neither of them is here
    std::string law;
    bool law_is_fixed = false;
    bool law_yields_to_loss = false;  // to each, whether or not it means congestion
    BitRate rate_limit{0};            // in force; 0: none
    std::uint64_t window = 0;         // that the user set, bytes; 0: none
    std::uint64_t memory = 0;         // of the ring, bytes: what both ends and the client allow
    RingRoom room{};
};

// How much of the time each stage was at work or waited for; they overlap.
struct Stages {
    double source_disk = 0, sender_cpu = 0, path = 0, receiver_cpu = 0, destination_disk = 0;
};

struct Verdict {
    Cause cause = Cause::too_short;
    double share = 0;  // of the time, that the cause held it back
    Stages stages;
    std::string why;     // "the sender waited 91 % of the time for reads of the disk here"
    std::string remedy;  // "read from a faster disk, or ..."; may be empty

    // As one sentence.
    std::string sentence() const;
};

Verdict judge(const Evidence& evidence);

}  // namespace lambda::verdict
