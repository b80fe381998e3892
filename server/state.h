// The server's state directory (0700): key, certificate, accounts, and how often it has started.
// Blocking; at start-up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "config/server_settings.h"

namespace lambda::server {

// The accounts, the certificate and its key that `settings` point at.
std::string accounts_file(const config::ServerSettings& settings);
std::string certificate_file(const config::ServerSettings& settings);
std::string key_file(const config::ServerSettings& settings);

// Made where it is missing; its parent must be there. One that is empty or holds a server's files
// is closed to others; one that holds anything else stays as it is, and is refused where others may
// write.
Result<void> make_state_directory(const std::string& directory);
// io::replace_file(), with mode 0600. As root: see keep_owner().
Result<void> replace_file(const std::string& file, std::string_view text,
                          const std::string& state_directory);
// Root gives the new file `fd` to whom `file` belongs, or, where that is root's or not there, the
// state directory: who the server runs as must be able to read it. Never a file that has
// another name too. Does nothing as another user.
Result<void> keep_owner(int fd, const std::string& file, const std::string& state_directory);

// Whether a start could use it, as far as that is seen without a change to it.
Result<void> check_state_directory(const std::string& directory);

// Whether both are there. One alone is an error.
Result<bool> has_certificate(const std::string& certificate_file, const std::string& key_file);
// Makes key and certificate where neither is there.
Result<void> ensure_certificate(const std::string& certificate_file, const std::string& key_file);

// The number of the first transfer of this run: the count of starts in the high 32 bits, so that no
// number serves twice for one key, also after a crash (docs/protocol.md §5).
Result<std::uint64_t> first_transfer_number(const std::string& directory);

}  // namespace lambda::server
