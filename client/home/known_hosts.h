// Which key a server showed when it was first trusted. A file of lines `[host]:port SHA256:...`,
// with blanks and tabs as they come and the host in any case; blank lines and lines that start with
// '#' are kept.
//
// The file, behind a link where it is one, is read each time it is asked, and replaced atomically
// under a lock on its directory, so that programs side by side lose no entry.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/remote/place.h"
#include "common/base/result.h"
#include "common/io/tls/tls.h"

namespace lambda::client {

// "SHA256:" and the base64 of 32 bytes.
bool is_fingerprint(std::string_view text);

class KnownHosts {
  public:
    explicit KnownHosts(std::string file) : file_(std::move(file)) {}
    // In the user's configuration.
    static KnownHosts of_user();

    const std::string& file() const { return file_; }

    // The key that this server is pinned to; nothing if it is unknown. A damaged line of this very
    // server is an error (Fault::session): it must not turn a pinned server into an unknown one.
    Result<std::optional<io::Fingerprint>> find(const Server& server) const;
    // Pins it. What it is pinned to then: another key where somebody else was faster.
    Result<io::Fingerprint> add(const Server& server, const io::Fingerprint& fingerprint) const;

  private:
    std::string file_;
};

}  // namespace lambda::client
