#include "common/engine/stall.h"

#include <string>

namespace lambda::engine {
namespace {

constexpr Duration kNoLink = std::chrono::seconds(60);
constexpr Duration kNoProgress = std::chrono::seconds(120);

Error network_cut(std::string message, const char* remedy) {
    return Error{.fault = Fault::cut,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::network,
                 .remedy = remedy};
}

}  // namespace

std::optional<Error> stalled(const Links& links, Time now, Time last_progress, const char* silence,
                             std::string_view standstill) {
    if (links.dead_since() != kNever && now - links.dead_since() > kNoLink) {
        return network_cut("no feedback connection stood for a minute",
                           "look for a firewall between the hosts and run the transfer again");
    }
    if (now - last_progress <= kNoProgress) return std::nullopt;
    if (silence != nullptr) {
        return network_cut(silence, "open the UDP data ports in the firewall");
    }
    std::string message = "nothing moved for two minutes";
    if (!standstill.empty()) message += std::string(": ").append(standstill);
    return network_cut(std::move(message), "run the transfer again");
}

void DiskWatch::look(Time now, bool works, std::uint64_t ended) {
    if (!works || ended != ended_) moved_ = now;
    works_ = works;
    ended_ = ended;
}

std::optional<Error> DiskWatch::stalled(Time now) const {
    if (!dead(now)) return std::nullopt;
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(kDiskPatience).count();
    return Error{.fault = Fault::cut,
                 .message = "the disk did nothing of what it was asked for in " +
                            std::to_string(minutes) + " minutes",
                 .path = {},
                 .side = Side::local,
                 .remedy = "look at that disk and its file system, and run the transfer again"};
}

}  // namespace lambda::engine
