// A receipt being written: beside its name first, so that a reader sees the old one or the new one
// whole. What was begun and not finished goes. Into a pipe or a device it goes as it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/io/file/root.h"

namespace lambda::client {

class ReceiptFile {
  public:
    // Errors: Fault::file.
    static Result<std::unique_ptr<ReceiptFile>> begin(const std::string& path);
    ReceiptFile(const ReceiptFile&) = delete;
    ReceiptFile& operator=(const ReceiptFile&) = delete;
    ~ReceiptFile();

    // Whole lines. Any one thread; it waits for the page cache alone. An error is kept for
    // finish().
    void take(std::string_view lines);
    // Flushed, and then given its name.
    Result<void> finish();

  private:
    ReceiptFile(std::string path, std::string temporary, io::Descriptor file);

    const std::string path_;
    std::string temporary_;  // empty: it has its name, or needs none
    io::Descriptor file_;
    std::optional<Error> error_;
};

}  // namespace lambda::client
