// "ADDRESS:PORT" with a numeric address, IPv6 in brackets: "127.0.0.1:2811", "[::1]:2811". Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/address.h"
#include "common/base/result.h"

namespace lambda::config {

Result<Address> parse_endpoint(std::string_view text);
std::string format_endpoint(const Address& address);

}  // namespace lambda::config
