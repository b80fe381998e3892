// What was made at a target and is not durable yet, or not under its name.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "common/io/file/open_file.h"
#include "common/io/file/read_back.h"
#include "common/io/file/target_name.h"

namespace lambda::io {

struct Made {
    ports::DiskTag tag = 0;
    std::string path;  // for messages
    std::shared_ptr<const TargetDirectories::Directory>
        directory;          // that holds it; none: a file whose name stays as it is
    Descriptor opened;      // of the file, or of the directory that it is; none of a link
    dev_t device = 0;       // that it lies on: a directory may be a mount point
    std::string partial;    // a file's name until it gets `leaf`; empty: it has its name, or none
    bool nameless = false;  // a file that has no name until it gets `leaf`
    bool stays = false;     // a file or link that stood there as `leaf`, and is not opened
    std::string leaf;
    bool unowned = false;
    // A target that goes its own way: flushed and named by itself.
    std::shared_ptr<OpenFile> whole;
    ports::FileMetadata metadata;
    std::optional<Written> to_read_back;  // before it gets its name

    Made() = default;
    Made(Made&&) = default;
    Made& operator=(Made&&) = default;
    ~Made() { abandon(); }
    // Removes the partial file, if there is one.
    void abandon();
    // Under `leaf`, in place of what stands there. errno, or 0.
    int give_name();
};

}  // namespace lambda::io
