// Hands bytes of ours to a socket without a copy: the kernel's pipe refers to their pages
// (vmsplice(2)), and from there a datagram does (splice(2), docs/decisions/0013). All sockets of an
// engine share one. Made at its first use. Engine thread.
#pragma once

#include <cstddef>

#include "common/base/cursor.h"
#include "common/io/file/root.h"

namespace lambda::io {

class PagePipe {
  public:
    // Whether it pays for these bytes, and their pages find room in one datagram beside a part
    // before and one behind.
    static bool takes(ByteView bytes);

    // 0, or an error's number: then nothing is in the pipe. EOPNOTSUPP: a pipe holds too little.
    int load(ByteView bytes);
    // Appends all that was loaded to the datagram that waits in `socket` for its end. 0, or an
    // error's number: then some may be appended, and nothing is in the pipe.
    int append_to(int socket);
    // What was loaded goes nowhere.
    void empty();

  private:
    int make();

    Descriptor in_, out_;
    std::size_t loaded_ = 0;
};

}  // namespace lambda::io
