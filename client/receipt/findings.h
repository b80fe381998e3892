// What an audit found, file by file: each that is not as the receipt says is told with its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/receipt/signer.h"
#include "client/report/report.h"
#include "common/receipt/lines.h"
#include "common/verify/hash.h"

namespace lambda::client {

// By which digest the content of a file can be checked: the strongest that its line has; nothing
// where nobody read it.
std::optional<verify::Algorithm> algorithm_of(const receipt::FileLine& line);

class Findings {
  public:
    Findings(Report& report, Signer signer) : report_(report), signer_(signer) {}

    // The server that signed shows the key by which it did.
    void shown() { signer_ = Signer::known; }
    Signer signer() const { return signer_; }

    void missing(const std::string& path, Side side);
    void unread(const Error& error);
    // False: that is told, and nothing else of the file is to be looked at.
    bool has_size(const receipt::FileLine& line, const std::string& path, Side side, bool regular,
                  std::uint64_t bytes);
    // After has_size().
    void has_digest(const receipt::FileLine& line, const std::string& path, Side side,
                    verify::Algorithm algorithm, const std::string& digits);
    void of_size_alone() { ++of_size_alone_; }
    // The audit ends early.
    void stop(const Error& error);
    // Likewise, of files that are here.
    void stop_here(const Error& error);

    // The sum of it.
    void tell(const receipt::Statement& statement);

  private:
    void differs(const std::string& path, Side side, std::string message);

    Report& report_;
    Signer signer_;
    std::uint64_t good_ = 0, of_size_alone_ = 0, missing_ = 0, different_ = 0, unread_ = 0;
    bool stopped_ = false;
};

}  // namespace lambda::client
