#include "server/admission.h"

#include <algorithm>
#include <utility>

#include "common/base/assert.h"

namespace lambda::server {

Admission::Slot::Slot(Slot&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), host_(other.host_) {}

Admission::Slot& Admission::Slot::operator=(Slot&& other) noexcept {
    if (this != &other) {
        release();
        owner_ = std::exchange(other.owner_, nullptr);
        host_ = other.host_;
    }
    return *this;
}

void Admission::Slot::release() {
    if (!owner_) return;
    const auto found = owner_->hosts_.find(host_of(host_));
    LAMBDA_ASSERT(found != owner_->hosts_.end() && owner_->count_ > 0);
    if (--found->second == 0) owner_->hosts_.erase(found);
    --owner_->count_;
    owner_ = nullptr;
}

Admission::Slot Admission::admit(const Address& peer) {
    if (count_ >= most_) return {};
    const auto found = hosts_.find(host_of(peer));
    if (found != hosts_.end() && found->second >= most_per_host_) return {};
    ++hosts_[host_of(peer)];
    ++count_;
    return {this, peer};
}

Admission::Host Admission::host_of(const Address& address) {
    Host host = address.ip;
    const bool mapped = std::all_of(host.begin(), host.begin() + 10,
                                    [](std::byte b) { return b == std::byte{0}; }) &&
                        host[10] == std::byte{0xff} && host[11] == std::byte{0xff};
    if (!mapped) std::fill(host.begin() + 8, host.end(), std::byte{0});
    return host;
}

}  // namespace lambda::server
