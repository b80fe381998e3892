// Which tokens open which transfer, and which epochs of its stripes were used (docs/protocol.md
// §4). A look-up takes the same time whether and where a token is found. Loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/session/command.h"

namespace lambda::server {

class JoinBook {
  public:
    void add(std::uint64_t transfer, const std::string& token, std::uint16_t stripes);
    void remove(std::uint64_t transfer);
    // The transfer, and the epoch is then used; nothing for an unknown token, a stripe that is not
    // there, and an epoch that is not above all before.
    std::optional<std::uint64_t> claim(const session::JoinRequest& request);
    std::optional<std::uint64_t> find(const std::string& token) const;

  private:
    struct Page {
        std::string token;
        std::vector<std::uint32_t> epochs;  // the last that was used, for each stripe
    };
    std::map<std::uint64_t, Page> pages_;
};

}  // namespace lambda::server
