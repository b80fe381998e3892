// What an engine is given: the agreed terms, the names, and the ports of the machine. The ports
// belong to the caller and outlive the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/address.h"
#include "common/ports/clock.h"
#include "common/ports/content_reader.h"
#include "common/ports/datagrams.h"
#include "common/ports/disk.h"
#include "common/ports/feedback.h"
#include "common/ports/packet_cipher.h"
#include "common/ports/target_tree.h"
#include "common/ports/walker.h"
#include "common/sabul/packet.h"
#include "common/session/terms.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/set_stream.h"
#include "common/transfer/sync_plan.h"

namespace lambda::engine {

static_assert(sabul::kHeaderBytes == ports::kHeaderBytes, "a packet has one header");

struct StripeCiphers {
    std::unique_ptr<ports::PacketCipher> data;     // sender to receiver
    std::unique_ptr<ports::PacketCipher> reverse;  // receiver to sender
};

struct Setup {
    session::Terms terms;
    bool is_client = false;
    Address peer;                               // the control connection's other end
    std::vector<std::uint16_t> peer_ports;      // client: the server's UDP ports
    std::vector<transfer::SourceName> sources;  // sender at the client
    std::vector<transfer::WantRecord> wants;    // receiver at the client
    transfer::WalkRecord walk;                  // client: how sources and wants are walked
    transfer::SyncRecord plan;                  // client: what is to become of what stands there
    // Client, where an account goes over several tries: names of files that lie in no tree, and
    // were done. They are compared. (A get needs SyncRecord::tells for it.)
    std::vector<std::string> done_before{};
    transfer::Target target;  // receiver
    // What the peer may have at most, where it was granted this transfer alone (docs/protocol.md
    // §11); asking for more cuts it.
    std::vector<transfer::WantRecord> only{};  // sender at the server: none: anything may be asked
    bool may_follow = true;                    // sender at the server: links may be followed
    bool may_archive = true;  // at the server: owners and extended attributes may be sent
    std::optional<std::uint64_t> most_bytes{};  // of all files together
    // Receiver at the server: the one SYNC that may be said, and must be unless it is the default.
    std::optional<transfer::SyncRecord> only_plan{};
    transfer::NamesKept keep_names = transfer::NamesKept::top;  // client: in Outcome::done
    // Receiver: its owner tells the sender by itself that it leaves (QUIT), so it may end once its
    // last words are on their way.
    bool says_goodbye = false;
    sabul::PacketNumber first_number = 0;       // of the data direction; both ends alike
    bool keep_series = false;                   // what stripes carry over time is wanted
    std::uint64_t seed = 0;                     // for the law, and for the phase of the SYN
    std::function<void(ByteSpan)> fill_random;  // for challenges

    ports::Clock* clock = nullptr;  // for when a burst leaves; a turn is too long for that
    ports::Disk* disk = nullptr;
    ports::Walker* walker = nullptr;                 // sender
    ports::ContentReader* content_reader = nullptr;  // none: content is never compared
    ports::TargetTree* target_tree = nullptr;  // receiver; none: nothing of what stands is kept
    transfer::Changes* changes = nullptr;      // client, of a sync: where they are told
    transfer::RecordWatch* records = nullptr;  // who keeps an account of them, or nothing
    ports::FeedbackSource* feedback = nullptr;
    std::vector<ports::DatagramSocket*> sockets;  // stripe i uses i % size
    std::vector<StripeCiphers> ciphers;           // one for each stripe
};

}  // namespace lambda::engine
