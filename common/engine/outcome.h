// What became of a transfer, and how far it is. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/engine/series.h"
#include "common/receipt/tally.h"
#include "common/verdict/verdict.h"

namespace lambda::engine {

struct FileFailure {
    std::string name;
    Error error;
};

// A special file, that is reported and not moved.
struct Skipped {
    std::string name;
    std::string why;
};

struct StripeOutcome {
    std::uint64_t bytes = 0;  // file bytes, sent or received by this stripe
    std::uint64_t packets = 0;
    std::uint64_t lost = 0;
    double rtt_ms = 0;  // 0: not known
};

struct Outcome {
    std::uint64_t files = 0;        // done
    std::uint64_t links = 0;        // done: symbolic ones, and further names of a file
    std::uint64_t directories = 0;  // done
    std::uint64_t unowned = 0;      // of an archive: done, but not given to their owner
    std::uint64_t bytes = 0;        // file bytes moved
    std::uint64_t verified = 0;     // files whose digests from both ends agreed
    std::uint64_t cuts = 0;         // after which another try went on
    std::uint64_t bytes_kept = 0;   // of an earlier transfer, compared and not moved
    std::uint64_t adopted = 0;      // files that stood there already, and did not move
    std::uint64_t adopted_bytes = 0;
    std::uint64_t mended = 0;        // of those, whose mode, time or archive did not agree
    std::uint64_t deleted = 0;       // since the source does not have them
    std::uint64_t leaves_again = 0;  // asked for again since their digest was wrong
    std::uint64_t leaves_changed =
        0;                           // of those, since the source was written to while it was sent
    double transfer_seconds = 0;     // first data packet to last byte durable, or to the cut
    std::uint64_t sent_packets = 0;  // data packets; at a receiver, what arrived and what was lost
    std::uint64_t lost_packets = 0;
    std::uint64_t retransmitted_packets = 0;
    std::uint64_t refused_packets = 0;  // arrived, but did not open or had no business here
    std::vector<StripeOutcome> stripes;
    std::vector<FileFailure> failures;  // bounded, see keep_failure(); `failed` counts all
    std::uint64_t failed = 0;
    std::vector<Skipped> skips;  // bounded: the first 1,000
    std::uint64_t skipped = 0;
    std::vector<std::string> done;            // the names of the files that are, at the client
    std::vector<std::string> asked;           // of a get, at the server: the first kMaxAsked
    std::uint64_t wants = 0;                  // and how many were
    std::optional<Error> cut;                 // the transfer as a whole ended early, and why
    verdict::Evidence evidence;               // of what held it back
    Series series;                            // where it was wanted: of goodput
    std::optional<receipt::Tally> receipt{};  // where an account was kept

    static constexpr std::size_t kMaxAsked = 3;
    static constexpr std::size_t kMaxFailures = 1000;
    void add_failure(std::string name, Error error) {
        ++failed;
        keep_failure({std::move(name), std::move(error)});
    }
    // Without counting it. Where there is no more room the last gives way to one of integrity: a
    // run with such a failure must be told from one without.
    void keep_failure(FileFailure failure) {
        if (failures.size() < kMaxFailures) {
            failures.push_back(std::move(failure));
        } else if (failure.error.fault == Fault::integrity) {
            failures.back() = std::move(failure);
        }
    }
    void add_skip(std::string name, std::string why) {
        ++skipped;
        if (skips.size() < kMaxFailures) skips.push_back({std::move(name), std::move(why)});
    }
};

struct Progress {
    std::uint64_t bytes = 0;        // acknowledged at the sender, received at the receiver
    std::uint64_t total_bytes = 0;  // of the files known so far
    std::uint64_t files_done = 0;
    std::uint64_t files_known = 0;
    std::uint64_t lost_packets = 0;
    std::uint64_t sent_packets = 0;
    double rtt_ms = 0;
    double rate_bits = 0;  // what the law allows now; 0 at a receiver
    std::string current_name;
    std::string standstill;  // why nothing has moved for some seconds; or nothing
};

}  // namespace lambda::engine
