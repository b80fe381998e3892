// How what is kept beside a target while it is received is called.
#pragma once

#include <string>
#include <string_view>

namespace lambda::io {

inline constexpr std::string_view kPartialEnd = ".part", kJournalEnd = ".journal";

// The name of the partial file of `leaf`, in the same directory: ".lambda-<XXH3-128 in hex>.part",
// and of the journal beside a partial file: ".lambda-<the same>.journal".
std::string partial_name(const std::string& leaf);
std::string journal_name(const std::string& partial);

}  // namespace lambda::io
