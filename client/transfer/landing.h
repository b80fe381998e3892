// A tree that becomes its target makes a directory under a new name. The same command, run again
// after a cut, finds that directory and would land in it: marks keep, from the first byte until
// nothing is left to do, that it is to go on instead. docs/integrity.md. One thread.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/copy/plan.h"
#include "client/home/marks.h"
#include "client/transfer/destination.h"
#include "common/base/result.h"
#include "common/mover/mover.h"
#include "common/transfer/record.h"

namespace lambda::client {

// That of one command, whose source may be a tree.
class Landing {
  public:
    // `ends`: the verb, where the source lies and where it lands, as they are each time. `here`:
    // the target, where it lies here.
    Landing(Marks marks, std::initializer_list<std::string> ends, std::string here = {});
    // None: of several sources.
    static std::shared_ptr<Landing> of(const Plan& plan);
    static std::shared_ptr<Landing> of(const CopyPlan& plan);

    // Whether the same command made the target, and did not come to its end. What was put here in
    // the place of the target since is another one.
    bool goes_on() const;
    // Its source becomes the target.
    void begins();
    // By itself, or cut: nothing is left to do, or nothing was made that could be gone on with.
    void ended(bool over);
    // No earlier run of the same command had begun.
    bool is_first() const { return first_; }
    // Why the same command will not know of it.
    const std::optional<Error>& unkept() const { return unkept_; }

  private:
    void keep();

    Marks marks_;
    std::string known_by_;
    std::string here_;
    bool kept_ = false;
    bool first_ = false;
    std::optional<Error> unkept_;
};

// Of a plan that goes on with a target that is there: lands as the first try did. Of a get, the
// server is asked first whether the source is a directory. False: nothing to go on with is known.
bool recall_landing(Plan& plan);
// Of the first try, once the session stands. `into_directory`: how the target of a put is
// understood there.
void begin_landing(const Plan& plan, bool into_directory);
// After it: what the next try of a put is of, where its tree became the target.
void stay_landed(Plan& plan, bool into_directory);
// Whether all that was tried failed, the target itself first.
bool made_nothing(const mover::Outcome& outcome);
// Patterns that mean of the contents of the tree `top` what `rules` mean of the tree, where its own
// name is the first component. One whose first component has "**" stays as it is. Pure.
std::vector<transfer::Rule> rules_within(const std::string& top,
                                         const std::vector<transfer::Rule>& rules);
// What a user must write in place of the same command, where that would not go on; else empty.
std::string remedy_of(const Landing& landing, const std::string& source);

}  // namespace lambda::client
