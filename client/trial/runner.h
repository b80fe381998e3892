// Runs the cases of a trial one after the other: makes what a leg reads, moves it, measures, and
// removes what it made, at both ends. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/command_line/arguments.h"
#include "client/report/report.h"
#include "client/trial/disk.h"
#include "client/trial/plan.h"

namespace lambda::client {

class TrialRunner {
  public:
    // `place`: the directory at the server where files for the trial go.
    TrialRunner(const Arguments& arguments, const Place& place, Report& report);
    ~TrialRunner();  // removes the files at the server

    // Whether there is a session to be had, before anything is made for it.
    Result<void> greet();
    // One run. An error whose fault is neither file nor usage ends the trial.
    Result<Measures> run(const TrialCase& what);

  private:
    Result<const TrialFile*> local_file(std::uint64_t size);
    Result<std::string> remote_file(const TrialCase& what);
    Result<void> probe_memory();
    Result<mover::Outcome> move(const TrialCase& what, const std::string& from,
                                const std::string& to, Leg::Kind kind);
    std::string remote_name() const;
    void remove_there();
    void remove_all_there();

    const Arguments& arguments_;
    Server server_;
    std::string directory_;
    Report& report_;
    Report silent_;  // what the first run said is not said again
    bool said_ = false;
    std::optional<Result<void>> memory_there_;     // whether the server offers it, once known
    std::map<std::uint64_t, TrialFile> local_;     // by size
    std::map<std::uint64_t, std::string> remote_;  // likewise
    std::vector<std::string> to_keep_;             // at the server, to the end
    std::vector<std::string> to_remove_;           // there, now
};

}  // namespace lambda::client
