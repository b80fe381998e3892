// Who serves which destination, where one that has everything serves others: the source and each of
// those serve one at a time, so that their number doubles turn by turn. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lambda::client::replicate {

class Relays {
  public:
    explicit Relays(std::size_t sites) : sites_(sites) {}

    bool served(std::uint32_t site) const { return sites_[site].served; }
    // By another site, rather than by the source. False while all who could serve it are at work.
    bool assign(std::uint32_t site);
    // Of one that is served: by which site; nothing: by the source.
    std::optional<std::uint32_t> from(std::uint32_t site) const { return sites_[site].from; }
    // It is not reached, or not served well: who serves it is free for others. Afterwards it is
    // the source's alone.
    void release(std::uint32_t site);
    bool ended(std::uint32_t site) const { return sites_[site].ended; }
    // Nothing is left to do there. `whole`: it has all that the source has.
    void end(std::uint32_t site, bool whole);

  private:
    struct Site {
        bool served = false;
        bool serves = false;  // it may
        bool of_source = false;
        bool busy = false;  // serves another
        bool ended = false;
        std::optional<std::uint32_t> from{};
    };
    bool& busy(const std::optional<std::uint32_t>& server) {
        return server ? sites_[*server].busy : source_busy_;
    }

    std::vector<Site> sites_;
    bool source_busy_ = false;
};

}  // namespace lambda::client::replicate
