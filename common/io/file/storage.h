// What answers a read or a write of a file, and which files are read and written past the page
// cache.
#pragma once

#include <cstdint>
#include <string>

#include "common/io/file/root.h"

namespace lambda::io {

// Smaller files gain nothing from direct I/O: they are packed with others, at odd offsets.
constexpr std::uint64_t kDirectSource = 1 << 20;
constexpr std::uint64_t kDirectTarget = 64 << 10;

enum class Storage {
    disk,
    memory,   // at the price of a copy; direct I/O is no gain
    program,  // FUSE: whoever calls sleeps until that answers, an io_uring's submitter, too
};

Storage storage_of(const Descriptor& file);
// The same file once more, with O_DIRECT; nothing where the file system or somebody forbids it.
Descriptor open_direct(int directory, const std::string& name, const Descriptor& plain);

}  // namespace lambda::io
