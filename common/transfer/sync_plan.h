// What is to become of an entry that the source offers, given what stands at the target: the rules
// of sync, and of a put or get of a tree over one that is partly there (docs/sync.md). rsync's
// quick check: same size and time is the same content. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/ports/target_tree.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

enum class Verdict : std::uint8_t {
    stands = 0,      // as it is at the source
    fresh = 1,       // nothing stands there: it is wanted
    changed = 2,     // it is wanted
    attributes = 3,  // the content stands, mode or time or what is archived does not
    left = 4,        // an option, or its kind, says that it is not to be touched
    similar = 5,     // as far as size tells: judged by digest, another name of it with it
    blocked = 6,     // something stands in its place that must go first: judged later
};
static_assert(static_cast<std::uint8_t>(Verdict::blocked) == kLastVerdict);

// Whether what stands has the time that was offered, as far as its file system keeps times. A time
// that is whole in its steps (seconds of ext4 with small inodes, 10 ms of exFAT, ms, us, 100 ns of
// NTFS) has lost the rest.
bool same_time(std::int64_t offered_ns, std::int64_t standing_ns);

inline bool wanted(Verdict verdict) {
    return verdict == Verdict::fresh || verdict == Verdict::changed;
}

// Offers that the sender has in hand, at most; it needs their verdicts before it goes on.
constexpr std::size_t kMostOffered = 16384;
// Where those that are not settled have so many bytes or more, it offers no other.
constexpr std::size_t kMostOfferedBytes = 16u << 20;
// What counts of an offer: its name, its text, its extended attributes. A receiver holds a name
// four times.
std::size_t offer_bytes(const std::string& name, const std::string& text,
                        const ports::FileMetadata& metadata);

struct Offered {
    OfferRecord::Kind kind = OfferRecord::Kind::file;
    std::uint8_t further = 0;  // as of OfferRecord
    ports::FileMetadata metadata{};
    std::string name{};  // all of it
    std::string text{};  // what a link shows; the first name
};

// `rights`: the receiver's.
Verdict judge(const Offered& offered, const ports::Standing& standing, const SyncRecord& plan,
              const ports::Rights& rights);

// Of one that was similar, once both digests are known.
Verdict judge_content(const Offered& offered, const ports::Standing& standing, bool same,
                      const ports::Rights& rights);

// One line of what a sync does, or would do.
struct Change {
    enum class What : std::uint8_t { create, replace, attributes, remove };
    What what = What::create;
    std::string name;
    bool directory = false;
    std::uint64_t size = 0;  // of a file that moves for it: its bytes
};
// The word of it.
const char* to_string(Change::What what);

// Who takes changes as they are known; another thread may.
class Changes {
  public:
    virtual ~Changes() = default;
    virtual bool has_room() const = 0;  // for kMostListed of them
    virtual void put(Change change) = 0;
};

}  // namespace lambda::transfer
