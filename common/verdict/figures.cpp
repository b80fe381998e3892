#include "common/verdict/figures.h"

namespace lambda::verdict {

const char* name_of(Figure figure) {
    constexpr std::array<const char*, kFigures> kNames{
        "elapsed_us",         "cpu_us",       "busy_us",
        "stalled_us",         "source_us",    "memory_us",
        "credit_us",          "window_us",    "law_window_us",
        "buffer_us",          "pace_us",      "limit_us",
        "socket_us",          "tail_us",      "finish_us",
        "silence_us",         "disk_us",      "sent_packets",
        "lost_packets",       "socket_drops", "receive_buffer_bytes",
        "least_rtt_us",       "queue_us",     "queue_at_loss_us",
        "carried_bytes_per_s"};
    static_assert(kNames.back() != nullptr);
    return kNames[static_cast<std::size_t>(figure)];
}

}  // namespace lambda::verdict
