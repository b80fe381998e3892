// What a trial does with the disk here: files of a size, and how fast one is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/trial/measures.h"
#include "common/base/result.h"

namespace lambda::client {

// A file that holds no zeros, no holes and nothing that repeats within a MiB, until this object
// goes; and what a transfer that was cut left of it. Errors (Fault::file) have path and cause; of
// what the disk has no room for nothing is written.
class TrialFile {
  public:
    static Result<TrialFile> make(const std::string& directory, std::uint64_t size);
    // A name for one of that size that somebody else makes.
    static Result<TrialFile> name(const std::string& directory, std::uint64_t size);
    TrialFile(TrialFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    TrialFile& operator=(TrialFile&& other) noexcept;
    ~TrialFile();

    const std::string& path() const { return path_; }

  private:
    explicit TrialFile(std::string path) : path_(std::move(path)) {}
    std::string path_;  // absolute; empty: nothing to remove
};

// What a trial calls its own files: this, and a random_name().
inline constexpr std::string_view kOwnName = ".lambda-trial-";

// Sixteen hex digits.
std::string random_name();

// Reads it once, as a sender would.
Result<Measures> read_alone(const std::string& path, std::uint64_t size, bool allow_uring);

}  // namespace lambda::client
