// SIGN: this server's word for what a transfer did (docs/protocol.md §13), by its TLS key.
#pragma once

#include <cstdint>
#include <string>

#include "common/io/tls/tls.h"
#include "common/receipt/tally.h"
#include "common/session/reply.h"
#include "common/session/sign.h"
#include "common/session/terms.h"

namespace lambda::server {

// What a session keeps of its last transfer, where an account of it was wanted.
struct Signable {
    session::Direction direction = session::Direction::put;
    std::string account;
    std::string place;  // put: the target
    bool into_directory = false;
    std::uint64_t transfer = 0;
    receipt::Tally tally{};
};

// 213 with the receipt's last two lines; 550 where the client's account is another than ours.
session::Reply sign(const session::SignRequest& request, const Signable& transfer,
                    const io::TlsContext& tls);

}  // namespace lambda::server
