// Digests of files that stand at one end, to be compared with those of the other. Pure but for the
// port it drives; engine thread. Bound: the caller's, on what is wanted and not told.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "common/ports/content_reader.h"
#include "common/transfer/digest.h"

namespace lambda::transfer {

class ContentDigests {
  public:
    static constexpr std::size_t kMostReads = 16;  // at once

    // `reader`: nothing where nothing is ever wanted.
    explicit ContentDigests(ports::ContentReader* reader) : reader_(reader) {}

    // By SHA-256, too. Before the first want().
    void set_strong() { strong_ = true; }
    bool possible() const { return reader_ != nullptr; }
    // Of a file that had `size` bytes when it was looked at.
    void want(std::uint32_t number, ports::ContentReader::Place place, std::uint64_t size);
    // No digest, but whether the file can be read at all.
    void try_open(std::uint32_t number, ports::SourceFile file);
    // `told` hears of each that was wanted once: its digests, or why there are none.
    using Told = std::function<void(std::uint32_t number, const Result<Digests>& digests)>;
    void turn(const Told& told);
    bool working() const { return !reading_.empty() || !wanted_.empty(); }
    // How many pieces were read so far: it grows while a file is read.
    std::uint64_t read() const { return *read_; }

  private:
    struct Wanted {
        std::uint32_t number = 0;
        ports::ContentReader::Place place;
        std::uint64_t size = 0;
        bool only_opened = false;
    };
    struct Reading {
        std::uint64_t size = 0;
        std::shared_ptr<FileDigest> digest;  // the reader's thread's, until it is done; or nothing
    };
    ports::ContentReader* const reader_;
    bool strong_ = false;
    const std::shared_ptr<std::atomic<std::uint64_t>> read_ =
        std::make_shared<std::atomic<std::uint64_t>>(0);  // by the reader's threads, too
    std::deque<Wanted> wanted_;
    std::unordered_map<std::uint32_t, Reading> reading_;
};

}  // namespace lambda::transfer
