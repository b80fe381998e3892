// What a run came to, as it is said at its end: lines for people, one object for programs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "common/mover/mover.h"

namespace lambda::client {

// What a sync said that it does, or would do: its lines by their words (docs/sync.md).
struct ChangeCount {
    std::uint64_t created = 0;
    std::uint64_t replaced = 0;
    std::uint64_t attributes = 0;
    std::uint64_t deleted = 0;
    std::uint64_t bytes = 0;  // of the files that move for it
    // Hashes of the names that were to get other attributes, kMostNamed at most.
    std::unordered_set<std::size_t> named{};

    static constexpr std::size_t kMostNamed = 1 << 16;
    void add(const std::string& word, const std::string& name, std::uint64_t size);
    // Of what was named and failed, no attributes were set.
    void take_off(const std::vector<mover::FileFailure>& failures);
};

struct Summary {
    mover::Outcome outcome;
    ChangeCount changes;
    bool dry_run = false;
    double seconds = 0;                      // of the whole run
    std::optional<std::string> left_over{};  // the file with what was not done

    // Something was transferred; of a copy between two servers that was cut, nobody told.
    bool measured() const {
        return !outcome.evidence.law.empty() &&
               (outcome.bytes > 0 || outcome.evidence.sender.known());
    }
};

// In the past tense, or of a dry run what would be.
std::vector<std::string> summary_lines(const Summary& summary);
// `verdict`: an object, or "null".
std::string summary_json(const Summary& summary, const std::string& verdict);

}  // namespace lambda::client
