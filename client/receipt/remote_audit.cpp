#include "client/receipt/remote_audit.h"

#include <deque>

#include "client/checksum.h"
#include "client/connection.h"
#include "common/session/facts.h"

namespace lambda::client {
namespace {

// Files asked for: the server takes 64 commands in hand, a file has two, and so has the login.
constexpr std::size_t kInHand = 24;

class Questions {
  public:
    Questions(Connection& connection, Findings& findings, Report& report)
        : connection_(connection), findings_(findings), report_(report) {}

    bool full() const { return asked_.size() == kInHand; }
    bool empty() const { return asked_.empty(); }

    Result<void> ask(receipt::FileLine line, std::string path) {
        Asked asked{.line = std::move(line), .path = std::move(path)};
        asked.algorithm = algorithm_of(asked.line);
        auto sent = connection_.send("SIZE", asked.path);
        if (!sent) {
            findings_.unread(sent.error());  // no line can carry its name
            return {};
        }
        if (asked.algorithm) {
            sent = connection_.send(
                "CKSM", session::format_checksum({.algorithm = to_string(*asked.algorithm),
                                                  .offset = 0,
                                                  .length = std::nullopt,
                                                  .path = asked.path}));
        }
        if (sent) asked_.push_back(std::move(asked));
        return sent;
    }

    // The answers about one file. An error: the session is lost.
    Result<void> hear() {
        const Asked asked = std::move(asked_.front());
        asked_.pop_front();
        const auto size = receive(Connection::kReplyTimeout);
        if (!size) return size.error();
        std::optional<session::Reply> digits;
        if (asked.algorithm) {
            auto answer = receive(kDigestTimeout);
            if (!answer) return answer.error();
            digits = *std::move(answer);
        }
        judge(asked, *size, digits);
        return {};
    }

  private:
    struct Asked {
        receipt::FileLine line;
        std::string path;
        std::optional<verify::Algorithm> algorithm{};
    };

    Result<session::Reply> receive(Duration timeout) {
        auto reply = connection_.receive(timeout);
        if (connection_.logged_in()) report_.session_stands();
        return reply;
    }

    void judge(const Asked& asked, const session::Reply& size,
               const std::optional<session::Reply>& digits) {
        if (!size.positive()) return findings_.unread(refusal(size, Fault::file, asked.path));
        const auto bytes = session::parse_number(size.text());
        if (!bytes) {
            return findings_.unread(Error{.fault = Fault::protocol,
                                          .message = "the server's answer is no size",
                                          .path = asked.path,
                                          .side = Side::remote,
                                          .remedy = {}});
        }
        if (!findings_.has_size(asked.line, asked.path, Side::remote, true, *bytes)) return;
        if (!digits) return findings_.of_size_alone();
        if (!digits->positive()) return findings_.unread(refusal(*digits, Fault::file, asked.path));
        findings_.has_digest(asked.line, asked.path, Side::remote, *asked.algorithm,
                             digits->text());
    }

    Connection& connection_;
    Findings& findings_;
    Report& report_;
    std::deque<Asked> asked_;
};

}  // namespace

void audit_there(ReceiptReader& receipt, const Server& server, const transfer::Target& target,
                 const Arguments& arguments, Findings& findings, Report& report) {
    auto connection = open_connection(server, arguments.access(),
                                      [&](const std::string& text) { report.note(text); });
    if (!connection) return findings.stop(connection.error());
    Questions questions(**connection, findings, report);
    bool more = true;
    while (more || !questions.empty()) {
        Result<void> went;
        if (more && !questions.full()) {
            auto line = receipt.next();
            if (!line) return findings.stop(line.error());
            more = line->has_value();
            if (more) went = questions.ask(**line, target.of((*line)->path).text());
        } else {
            went = questions.hear();
        }
        if (!went) return findings.stop(went.error());
    }
}

}  // namespace lambda::client
