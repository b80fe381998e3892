#include "client/replicate/relays.h"

#include <utility>

namespace lambda::client::replicate {

bool Relays::assign(std::uint32_t number) {
    Site& site = sites_[number];
    if (site.served) return true;
    std::optional<std::uint32_t> server;
    for (std::uint32_t i = 0; i < sites_.size() && !server && !site.of_source; ++i) {
        if (sites_[i].serves && !sites_[i].busy) server = i;
    }
    if (!server && source_busy_) return false;
    site.served = busy(server) = true;
    site.from = server;
    return true;
}

void Relays::release(std::uint32_t number) {
    Site& site = sites_[number];
    if (!std::exchange(site.served, false)) return;
    busy(site.from) = false;
    site.of_source = site.of_source || site.from.has_value();
    site.from.reset();
}

void Relays::end(std::uint32_t number, bool whole) {
    release(number);
    sites_[number].serves = whole;
    sites_[number].ended = true;
}

}  // namespace lambda::client::replicate
