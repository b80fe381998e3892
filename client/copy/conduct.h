// A copy from server to server, conducted from here: one server grants, the other dials it and
// copies; this end tells them about each other and follows (docs/copy.md).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "client/command_line/arguments.h"
#include "client/copy/hear.h"
#include "client/copy/plan.h"
#include "client/remote/connection.h"
#include "client/report/report.h"
#include "common/session/copy.h"
#include "common/session/copy_result.h"
#include "common/session/entry.h"

namespace lambda::client {

// What one try came to.
struct CopyTry {
    Role dialler = Role::destination;
    session::CopyResult result;
    std::optional<std::uint64_t> detached{};  // the number of a copy that goes on by itself
};
// An error of a server, or on the way to it, with its role.
struct CopyError {
    Error error;
    std::optional<Role> role;
};

class CopyConductor {
  public:
    CopyConductor(const CopyPlan& plan, const Arguments& arguments, Report& report)
        : plan_(plan), arguments_(arguments), report_(report) {}

    // Both sessions, a grant and the copy. Where nothing came of it, error() tells why. Repeated,
    // it lands where the first one did, whatever that has made; in a later run, too, where the plan
    // has a landing.
    std::optional<CopyTry> run();
    const CopyError& error() const { return *error_; }
    // The plan's landing was kept by these runs, and nothing was made that it could be of.
    bool landed_nothing() const { return marked_ && !began_; }
    // Of the last run: neither server that was to dial the other may, or can.
    bool unreached() const { return unreached_; }
    // Of the last run.
    bool stood() const { return stood_; }    // both sessions
    bool agreed() const { return agreed_; }  // the servers with each other
    bool moved() const { return moved_; }    // bytes or files came over
    // Of runs whose session was lost once the servers had agreed: what came over, by the word of
    // their server or as it was told last; each once there is no more to hear, or `anyway`.
    std::vector<mover::Outcome> take_cut(bool anyway = false);
    // Where it lies there what an outcome calls `name`; once both ends were looked at.
    std::string path_at(Role role, const std::string& name) const;

  private:
    std::unique_ptr<Connection>& session(Role role) {
        return role == Role::source ? source_ : destination_;
    }
    const CopyPlan::End& end(Role role) const {
        return role == Role::source ? plan_.source : plan_.destination;
    }
    // For how long the servers try again by themselves.
    Duration again() const {
        return arguments_.detach ? std::min(arguments_.settings.retry_for, session::kLongestAgain)
                                 : Duration{0};
    }
    bool open(Role role);
    bool look();
    bool end_lost(std::optional<CopyTry>& ended);
    bool settle(const session::Entry* source);
    bool send_ahead(Role role, const std::string& bytes);
    session::GrantRequest grant_request(Role granter, Role dialler);
    std::optional<std::string> grant(Role granter, const session::GrantRequest& request);
    bool give_back(Role granter, const std::string& token);
    session::CopyRequest copy_request(Role dialler);
    enum class Outcome { copied, unreached, failed };
    Outcome copy(Role dialler, CopyTry& done);
    Outcome copy_by(Role dialler, const session::CopyRequest& request, CopyTry& done);
    Outcome follow(Role dialler, CopyTry& done);
    std::string why_refused() const;
    void tell_refused();
    void join_refused();
    bool fail(Error error, std::optional<Role> role);

    const CopyPlan& plan_;
    const Arguments& arguments_;
    Report& report_;
    std::unique_ptr<Connection> source_, destination_;
    bool stood_ = false, agreed_ = false, moved_ = false, unreached_ = false;
    bool marked_ = false;  // the landing
    bool began_ = false;   // something may stand at the target; of an earlier command, too
    std::optional<std::uint64_t> size_;  // of a source that is a file
    bool settled_ = false;               // the three below are what they stay
    bool contents_ = false, several_ = false;
    bool becomes_ = false;  // the source is a tree that becomes the target
    // A copy whose session was lost: it may run on, until its server hears of that.
    struct Lost {
        Role dialler;
        std::uint64_t copy;
        std::string grant;
        std::optional<mover::Outcome> seen{};  // as it was told last
    };
    std::optional<Lost> lost_;
    std::vector<mover::Outcome> cut_;  // to be taken
    std::optional<CopyError> error_;
    std::optional<CopyError> refused_;  // why the destination does not dial; until it was told
};

}  // namespace lambda::client
