// Which file a name or a descriptor shows.
#pragma once

#include <sys/stat.h>
#include <cstdint>
#include <string>

namespace lambda::io {

bool same_file(const struct stat& a, const struct stat& b);
// Whether the name shows this open file, still.
bool still_named(int directory, const std::string& name, int fd);
// Names beside one; some file systems count none at all.
std::uint64_t further_names(const struct stat& status);

}  // namespace lambda::io
