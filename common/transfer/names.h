// How files are called at the two ends of a transfer. Pure.
#pragma once

#include <string>

namespace lambda::transfer {

// A file to send: where it is read, and what it is called for the receiver (relative,
// '/'-separated).
struct SourceName {
    std::string path;
    std::string name;
};

// Where received files land: at `path` itself, or at path + "/" + name.
struct Target {
    std::string path;
    bool into_directory = false;

    std::string path_of(const std::string& name) const {
        if (!into_directory) return path;
        if (path.empty()) return name;
        return path.back() == '/' ? path + name : path + "/" + name;
    }
};

}  // namespace lambda::transfer
