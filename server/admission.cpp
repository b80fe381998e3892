#include "server/admission.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/assert.h"

namespace lambda::server {
namespace {

using Host = Admission::Host;

Host prefix_of(Host host, std::size_t bytes) {
    if (!is_ipv4(host)) std::fill(host.begin() + bytes, host.end(), std::byte{0});
    return host;
}

// What one site or customer has.
Host network_of(const Host& host) {
    return prefix_of(host, 6);
}

}  // namespace

Admission::Slot::Slot(Slot&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      host_(other.host_),
      stranger_(other.stranger_) {}

Admission::Slot& Admission::Slot::operator=(Slot&& other) noexcept {
    if (this != &other) {
        release();
        owner_ = std::exchange(other.owner_, nullptr);
        host_ = other.host_;
        stranger_ = other.stranger_;
    }
    return *this;
}

void Admission::Slot::release() {
    if (!owner_) return;
    stay();
    const auto found = owner_->hosts_.find(host_);
    LAMBDA_ASSERT(found != owner_->hosts_.end() && owner_->count_ > 0);
    if (--found->second.connections == 0) owner_->hosts_.erase(found);
    --owner_->count_;
    owner_ = nullptr;
}

void Admission::Slot::may_go(std::function<void()> give_way) {
    LAMBDA_ASSERT(owner_ != nullptr && stranger_ == 0);
    std::size_t& of_network = owner_->networks_[network_of(host_)];
    const std::uint64_t number = ++owner_->last_stranger_;
    owner_->hosts_.at(host_).strangers.emplace(number, std::move(give_way));
    ++of_network;
    stranger_ = number;
}

void Admission::Slot::stay() {
    if (owner_ == nullptr || stranger_ == 0) return;
    owner_->hosts_.at(host_).strangers.erase(std::exchange(stranger_, 0));
    const auto network = owner_->networks_.find(network_of(host_));
    if (--network->second == 0) owner_->networks_.erase(network);
}

Admission::Slot Admission::admit(const Address& peer) {
    const Host host = host_of(peer);
    const auto found = hosts_.find(host);
    if (found != hosts_.end() && found->second.connections >= most_per_host_) return {};
    if (count_ >= most_ && !make_room(host)) return {};
    ++hosts_[host].connections;
    ++count_;
    return {this, host};
}

bool Admission::make_room(const Host& newcomer) {
    // Strangers of the network, of the host, and how early the host's newest came.
    using Rank = std::tuple<std::size_t, std::size_t, std::uint64_t>;
    const auto rank_of = [this](const Host& host, std::uint64_t newest) {
        const auto network = networks_.find(network_of(host));
        const auto found = hosts_.find(host);
        return Rank{network == networks_.end() ? 0 : network->second,
                    found == hosts_.end() ? 0 : found->second.strangers.size(), ~newest};
    };
    Rank most = rank_of(newcomer, 0);
    OfHost* crowded = nullptr;
    for (auto& [host, of_host] : hosts_) {
        if (of_host.strangers.empty()) continue;
        const Rank rank = rank_of(host, of_host.strangers.rbegin()->first);
        if (rank <= most) continue;
        most = rank;
        crowded = &of_host;
    }
    if (crowded == nullptr) return false;
    const auto give_way = std::move(crowded->strangers.rbegin()->second);
    give_way();
    LAMBDA_ASSERT(count_ < most_);
    return true;
}

Admission::Host Admission::host_of(const Address& address) {
    return prefix_of(address.ip, 8);
}

}  // namespace lambda::server
