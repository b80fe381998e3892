// Which hosts a server may dial for a copy: `copy_hosts`. Each rule is "*" (any), "public" (any
// address that is routed in the Internet), an address or network ("10.1.0.0/16", "2001:db8::/32"),
// a name, or "*.DOMAIN". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"

namespace lambda::config {

class HostRules {
  public:
    // Fault::usage names the rule that is none.
    static Result<HostRules> parse(const std::vector<std::string>& rules);

    bool empty() const { return rules_.empty(); }
    // Whether `address` may be dialled, to which `host`, as the user wrote it, was resolved.
    bool allow(std::string_view host, const Address& address) const;

  private:
    struct Rule {
        enum class Kind { any, public_, network, name, domain };
        Kind kind = Kind::any;
        Address network;
        unsigned bits = 0;  // of the 128
        std::string name;   // lower case; of a domain with its leading dot
    };
    static Result<Rule> parse_rule(const std::string& text);
    static bool matches(const Rule& rule, std::string_view host, const Address& address);

    std::vector<Rule> rules_;
};

// Not of this machine or a private, local or special network (RFC 6890).
bool is_public(const Address& address);

}  // namespace lambda::config
