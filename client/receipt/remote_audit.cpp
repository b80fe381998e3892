#include "client/receipt/remote_audit.h"

#include <deque>

#include "client/remote/connection.h"
#include "client/remote/server_names.h"
#include "common/session/entry.h"
#include "common/session/facts.h"

namespace lambda::client {
namespace {

// Files asked for: the server takes 64 commands in hand, a file has two, and so has the login.
constexpr std::size_t kFilesInHand = 24;

std::optional<session::EntryType> type_in(const session::Reply& facts) {
    if (!facts.positive() || facts.lines.size() < 2) return std::nullopt;
    const auto entry = session::parse_entry(facts.lines[1]);
    if (!entry) return std::nullopt;
    return entry->type;
}

class Questions {
  public:
    Questions(Connection& connection, Findings& findings, Report& report)
        : connection_(connection), findings_(findings), report_(report) {}

    bool full() const { return asked_.size() == kFilesInHand; }
    bool empty() const { return asked_.empty(); }

    void ask(receipt::FileLine line, std::string path) {
        Asked asked{.line = std::move(line), .path = std::move(path)};
        asked.algorithm = algorithm_of(asked.line);
        Result<void> sent;
        if (asked.algorithm) {
            sent = connection_.send(
                "CKSM", session::format_checksum({.algorithm = to_string(*asked.algorithm),
                                                  .offset = 0,
                                                  .length = std::nullopt,
                                                  .path = asked.path}));
        }
        // The shorter of the two.
        if (sent) sent = connection_.send("SIZE", asked.path);
        if (sent) {
            asked_.push_back(std::move(asked));
        } else {
            findings_.unread(unspeakable(asked.path, sent.error()));
        }
    }

    // The answers about one file. An error: the session is lost.
    Result<void> hear() {
        Asked asked = std::move(asked_.front());
        asked_.pop_front();
        if (asked.refused) {
            const auto facts = heard(connection_.receive());
            if (!facts) return facts.error();
            judge_refused(asked, *facts);
            return {};
        }
        std::optional<session::Reply> digits;
        if (asked.algorithm) {
            auto answer = heard(connection_.receive_slow());
            if (!answer) return answer.error();
            digits = *std::move(answer);
        }
        auto size = heard(connection_.receive());
        if (!size) return size.error();
        if (size->code == 550) {
            auto sent = connection_.send("MLST", asked.path);
            asked.refused = *std::move(size);
            if (sent) asked_.push_back(std::move(asked));
            return sent;
        }
        judge(asked, *size, digits);
        return {};
    }

  private:
    struct Asked {
        receipt::FileLine line;
        std::string path;
        std::optional<verify::Algorithm> algorithm{};
        std::optional<session::Reply> refused{};  // SIZE was: what stands there is asked
    };

    static Error unspeakable(const std::string& path, Error error) {
        error.fault = Fault::file;
        error.path = path;
        error.remedy = "audit it on the server's host, with --at DIRECTORY";
        return error;
    }

    Result<session::Reply> heard(Result<session::Reply> reply) {
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

    void judge_refused(const Asked& asked, const session::Reply& facts) {
        using session::EntryType;
        const auto type = type_in(facts);
        // A link that leads nowhere: SIZE follows it, MLST does not.
        const bool dangles = type == EntryType::link && says_missing(asked.refused->text());
        if (dangles || (!facts.positive() && says_missing(facts.text())))
            return findings_.missing(asked.path, Side::remote);
        if (type == EntryType::directory || type == EntryType::special) {
            findings_.has_size(asked.line, asked.path, Side::remote, false, 0);
            return;
        }
        findings_.unread(refusal(*asked.refused, Fault::file, asked.path));
    }

    Connection& connection_;
    Findings& findings_;
    Report& report_;
    std::deque<Asked> asked_;
};

}  // namespace

void audit_there(ReceiptReader& receipt, const Server& server, RemoteReplica place,
                 const Arguments& arguments, Findings& findings, Report& report) {
    auto connection = open_connection(server, arguments.access(),
                                      [&](const std::string& text) { report.note(text); });
    if (!connection) return findings.stop(connection.error());
    if (place.shown) {
        const auto checked = check_shown(receipt.key(), server, (*connection)->peer_fingerprint());
        if (!checked) return findings.stop(checked.error());
        findings.shown();
    }
    if (place.looks) {
        const auto facts = (*connection)->exchange("MLST", place.replica.target.path);
        if ((*connection)->logged_in()) report.session_stands();
        if (!facts) return findings.stop(facts.error());
        place.replica.is_directory = type_in(*facts) == session::EntryType::directory;
    }
    Questions questions(**connection, findings, report);
    bool more = true;
    while (more || !questions.empty()) {
        Result<void> went;
        if (more && !questions.full()) {
            auto line = receipt.next();
            if (!line) return findings.stop(line.error());
            more = line->has_value();
            if (more) questions.ask(**line, place.replica.path_of((*line)->path));
        } else {
            went = questions.hear();
        }
        if (!went) return findings.stop(went.error());
    }
}

}  // namespace lambda::client
