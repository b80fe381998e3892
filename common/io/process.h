// What a program of ours asks of its process before it begins.
#pragma once

namespace lambda::io {

// Ignores SIGPIPE (tls.h) and raises the soft limit of open files to the hard one: each file that
// is being received takes three descriptors, and hundreds may be in hand. Before the first thread.
void prepare_process();

}  // namespace lambda::io
