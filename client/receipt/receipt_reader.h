// A receipt as it is read: whole and signed, or refused (docs/integrity.md). In bounded memory: it
// is read once to be checked, and once more for its files; what can be read but once, as a pipe, is
// kept in an unlinked file in TMPDIR. One thread.
#pragma once

#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/io/tls/tls.h"
#include "common/receipt/lines.h"

namespace lambda::client {

class ReceiptReader {
  public:
    // Errors, with `name` as their path: Fault::usage, it is no receipt; Fault::integrity, it was
    // changed or cut short; Fault::file, it cannot be read.
    static Result<ReceiptReader> open(const std::string& file);
    static Result<ReceiptReader> open(std::unique_ptr<std::istream> in, std::string name);

    const receipt::Statement& statement() const { return statement_; }
    // The key that signed; whose it is, the caller knows or not.
    const io::Fingerprint& key() const { return statement_.key; }

    // The next file; nothing behind the last. Fault::integrity: the receipt is another meanwhile.
    Result<std::optional<receipt::FileLine>> next();

  private:
    ReceiptReader(std::unique_ptr<std::istream> in, std::string name);
    Result<void> check();
    std::optional<std::string> line();
    Error refused(std::string message, Fault fault = Fault::integrity) const;

    std::unique_ptr<std::istream> in_;
    std::unique_ptr<std::iostream> kept_;  // what was read of what can't be read again
    std::string name_;
    std::string ahead_;  // read, and no line yet
    std::size_t used_ = 0;
    transfer::Sha256State lines_;
    receipt::Statement statement_;
};

}  // namespace lambda::client
