// The values of a path as people write them, in a file or in flags. Each function throws Wrong
// where the text is no such value; only path_file.cpp and path_flags.cpp call them, and catch it.
#pragma once

#include <string>

#include "common/base/time.h"
#include "common/base/units.h"
#include "tools/lab/path.h"

namespace lambda::lab {

struct Wrong {
    std::string what;
};

BitRate to_rate(const std::string& text);
Duration to_delay(const std::string& text);  // up to 10 s
Duration to_time(const std::string& text);   // up to a day
double to_share(const std::string& text);    // "1e-3", "0.1%"
double to_burst(const std::string& text);
std::uint32_t to_mtu(const std::string& text);
void to_queue(const std::string& text, LinkSpec& link);  // "12.5MB", "1BDP"
std::string to_name(const std::string& text);
std::string to_congestion(const std::string& text);

void check_loss(const Loss& loss);
// Gives the queues their bytes. Wrong where one has no room for a packet.
void resolve_queues(PathSpec& path);

}  // namespace lambda::lab
