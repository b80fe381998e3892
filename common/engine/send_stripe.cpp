#include "common/engine/send_stripe.h"

#include <algorithm>
#include <cstring>

#include "common/base/assert.h"

namespace lambda::engine {
namespace {

constexpr std::size_t kIpv4Udp = 28, kIpv6Udp = 48;
constexpr Duration kPacketTime = std::chrono::milliseconds(2);
// What a path of 1,500 bytes carries: nothing is gained below.
constexpr std::size_t kLeastPayload = 1440;
// A shorter text costs the kernel more as a part than a copy costs here.
constexpr std::size_t kApart = 4096;

Address data_address(const Setup& setup, std::uint16_t stripe) {
    if (!setup.is_client) return Address{};
    Address address = setup.peer;
    address.port = setup.peer_ports[stripe % setup.peer_ports.size()];
    return address;
}

}  // namespace

bool Burst::takes(std::size_t wire_bytes) const {
    if (packets_ == 0) return true;
    return packets_ < kMaxPackets && bytes_ == packets_ * segment_ && wire_bytes <= segment_ &&
           bytes_ + wire_bytes <= kMaxBytes;
}

bool Burst::leaves(std::size_t text_bytes) const {
    return leaves_text_ && text_bytes >= kApart;
}

std::byte* Burst::add(const ports::SealJob& job, std::size_t wire_bytes, std::size_t file_bytes) {
    LAMBDA_ASSERT(takes(wire_bytes));
    if (packets_ == 0) {
        segment_ = wire_bytes;
        first_number_ = job.number;
    }
    std::byte* const at = room_ + used_;
    jobs_[packets_] = job;
    jobs_[packets_].packet = at;
    jobs_[packets_].apart = leaves(job.text.size());
    if (jobs_[packets_].apart) {
        append({at, sabul::kHeaderBytes});
        append(job.text);
        append({at + sabul::kHeaderBytes, wire_bytes - sabul::kHeaderBytes - job.text.size()});
        used_ += wire_bytes - job.text.size();
    } else {
        append({at, wire_bytes});
        used_ += wire_bytes;
    }
    ++packets_;
    bytes_ += wire_bytes;
    file_bytes_ += file_bytes;
    return at;
}

// What lies one behind the other is one part.
void Burst::append(ByteView part) {
    if (part_count_ > 0) {
        ByteView& last = parts_[part_count_ - 1];
        if (last.data() + last.size() == part.data()) {
            last = {last.data(), last.size() + part.size()};
            return;
        }
    }
    parts_[part_count_++] = part;
}

void Burst::keep() {
    if (parts_[0].data() == kept_.get()) return;
    std::byte* at = kept_.get();
    for (const ByteView part : parts()) at = std::copy(part.begin(), part.end(), at);
    parts_[0] = {kept_.get(), bytes_};
    part_count_ = 1;
}

SendStripe::SendStripe(std::uint16_t number, const Setup& setup, std::byte* room)
    : index(number),
      socket(*setup.sockets[number % setup.sockets.size()]),
      ciphers(setup.ciphers[number]),
      flow(setup.first_number),
      probe(socket.largest_datagram(data_address(setup, number).set() ? data_address(setup, number)
                                                                      : setup.peer),
            is_ipv4(setup.peer.ip) ? kIpv4Udp : kIpv6Udp),
      burst(ciphers.data->leaves_text(), room),
      peer(data_address(setup, number)) {}

void SendStripe::add_packet(sabul::PacketType type, const transfer::Cut& cut, const Manner& manner,
                            Time now) {
    static const std::vector<std::byte> zeros(Burst::kMaxBytes);
    const std::size_t file_bytes = cut.bytes.size();
    const std::size_t text = file_bytes + cut.digest.size() + manner.padding;
    const std::size_t wire = sabul::kHeaderBytes + text + tag_bytes();
    const sabul::PacketNumber number = flow.record({.place = cut.place,
                                                    .bytes = static_cast<std::uint32_t>(file_bytes),
                                                    .wire_bytes = static_cast<std::uint32_t>(wire),
                                                    .type = type,
                                                    .copy = manner.copy,
                                                    .sent = now});
    if (type == sabul::PacketType::data) sizes = {sizes[1], wire};
    const ByteView body = manner.padding > 0 ? ByteView(zeros).first(manner.padding) : cut.bytes;
    const bool bare = manner.bare && burst.leaves(body.size());
    std::byte* const at = burst.add(
        {.number = number, .text = body, .trailer = cut.digest, .bare = bare}, wire, file_bytes);
    sabul::encode({.type = type,
                   .flags = static_cast<std::uint8_t>((cut.digest.empty() ? 0 : sabul::kLeafEnd) |
                                                      (bare ? sabul::kBare : 0)),
                   .flow = index,
                   .number = static_cast<std::uint32_t>(number),
                   .place = cut.place},
                  at);
}

void SendStripe::send_alone(sabul::PacketType type, std::size_t padding, ByteView text,
                            const Address& to, Time now) {
    if (!burst.empty()) return;
    add_packet(type, transfer::Cut{0, text, {}}, {.padding = padding}, now);
    burst.seal(*ciphers.data);
    const ports::SendOutcome outcome =
        socket.send(burst.parts(), burst.segment_bytes(), burst.text(), to);
    if (outcome == ports::SendOutcome::too_large || outcome == ports::SendOutcome::would_block) {
        flow.burn_from(burst.first_number());
    } else {
        last_sent = now;
    }
    burst.clear();
}

std::size_t SendStripe::payload(const session::Terms& terms, BitRate rate) const {
    std::size_t most =
        std::min<std::size_t>(probe.size() - sabul::kHeaderBytes - tag_bytes(), terms.payload);
    if (burst.leaves(most)) most = std::min(most, ports::DatagramSocket::kLastingText);
    // A packet alone is a burst: one that takes long at this rate is cut shorter.
    const auto quick = static_cast<std::size_t>(rate.bytes_per_second() * seconds(kPacketTime));
    return std::min(most, std::max(quick, kLeastPayload));
}

bool SendStripe::short_path(Duration syn) const {
    // The least round trip: a busy host's is no sign that the path holds more.
    return !flow.rtt().known() || flow.rtt().minimum() < syn;
}

std::size_t SendStripe::buffer_limit() const {
    if (peer_buffer == 0) return probe.size() * 2;
    return std::max(peer_room().usable() / stripes_on_socket, probe.size() * 2);
}

}  // namespace lambda::engine
