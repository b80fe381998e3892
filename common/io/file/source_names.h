// From a source's name to its file. What the user named of it is resolved as he meant it, links and
// all (within the jail, where there is one); what a walk found below that is met there alone: where
// a link took the place of a directory since, it is not followed. Any thread.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <string>

#include "common/io/file/root.h"
#include "common/ports/disk.h"

namespace lambda::io {

class SourceNames {
  public:
    explicit SourceNames(const Root& root) : root_(root) {}

    const Root& root() const { return root_; }
    // As Root::open.
    Result<Descriptor> open(const ports::SourceFile& file, int flags) const;
    // Whether the name shows something else by now than what was `opened`.
    Result<bool> left(const ports::SourceFile& file, const struct stat& opened) const;

  private:
    using Base = std::shared_ptr<const Descriptor>;
    Result<Base> base(const std::string& name) const;
    Result<Descriptor> open_named(const ports::SourceFile& file, int flags) const;
    // A descriptor, or -errno.
    Result<int> open_below(const ports::SourceFile& file, int flags) const;

    const Root& root_;
    // Opened once for those that follow each other.
    mutable std::mutex mutex_;
    mutable std::string base_name_;
    mutable Base base_;
};

}  // namespace lambda::io
