// Mode, times, and what an archive keeps beside them: owner, group and extended attributes, of
// which POSIX ACLs are two. Blocking calls: worker threads.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/ports/attributes.h"
#include "common/ports/rights.h"

namespace lambda::io {

// Since 1970. The nearest that 64 bits hold, from 1677 to 2262, of a time beyond that.
std::int64_t nanoseconds_of(const timespec& time);

// A file or directory by a descriptor of its own; a link by one (O_PATH), or by its directory's and
// its name in that.
struct Entry {
    int descriptor = -1;
    const char* name = nullptr;  // of a link
    bool link = false;           // `descriptor` is of one
};

// `archive`: with owner and extended attributes. `path` is for messages.
Result<ports::FileMetadata> metadata_of(const Entry& entry, const struct stat& status, bool archive,
                                        const std::string& path);
Result<ports::Archived> archived_of(const Entry& entry, const struct stat& status,
                                    const std::string& path);

// Of this process, below that root. Whoever has an account of a server that is not root makes no
// programs that run as the server's user: they would read its key.
bool gives_set_id(const Root& root);
ports::Rights rights_in(const Root& root);
// It is the root of a jail itself, by fstat(): its mode and owner are the administrator's.
bool is_top(const Root& root, const struct stat& status);

// Sets all but the size; the time last. True: all of it. False: all but the owner, extended
// attributes that root alone may set, or set-user-id and set-group-id of an archive
// (ports::given_mode()), since that takes a right that we do not have.
Result<bool> apply(const Entry& entry, const ports::FileMetadata& metadata, bool set_id,
                   const std::string& path);
// As apply(), of what the user named below that root, by a descriptor. Of the root of a jail itself
// the time alone is set, where that may be.
Result<bool> apply_named(const Root& root, int descriptor, const ports::FileMetadata& metadata,
                         const std::string& path);

}  // namespace lambda::io
