// What the UDP sockets of one thread share, since one works after the other.
#pragma once

#include <memory>

#include "common/io/net/intake.h"
#include "common/io/net/page_pipe.h"

namespace lambda::io {

struct SocketShare {
    std::unique_ptr<Intake> intake;
    PagePipe pipe;
};

}  // namespace lambda::io
