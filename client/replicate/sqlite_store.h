// A job's state in one SQLite file: for the movers of one machine. Leases of the dead end at once,
// not when their time is over: who conducts holds a lock on a file beside it, which goes with him.
#pragma once

#include <memory>
#include <string>

#include "client/replicate/sqlite.h"
#include "client/replicate/store.h"
#include "common/io/root.h"

namespace lambda::client::replicate {

class SqliteStore final : public Store {
  public:
    // Directories are made where they are missing. Errors: Fault::file; also where the file is no
    // state, or one of a later version.
    static Result<std::unique_ptr<SqliteStore>> open(const std::string& file);

    // The right to conduct, for as long as this lives. False: another process has it.
    Result<bool> conduct();

    Result<std::optional<Run>> last_run() override;
    Result<std::vector<Run>> runs(std::size_t most) override;
    Result<Run> begin_run(const std::string& shape, const std::vector<std::string>& sites,
                          WallTime now) override;
    Result<void> end_run(std::int64_t run, RunState state, WallTime now) override;
    Result<std::vector<SiteStatus>> sites(std::int64_t run) override;
    Result<void> plan(std::int64_t run, std::uint32_t site, const Planned& planned) override;
    Result<void> set_site(std::int64_t run, std::uint32_t site, SiteState state,
                          const std::string& trouble) override;
    Result<std::vector<Task>> lease(const LeaseRequest& request) override;
    Result<void> settle(const std::vector<Settled>& settled) override;
    Result<Waiting> waiting(std::int64_t run, std::uint32_t site) override;
    Result<std::vector<Task>> untidied(std::int64_t run, std::uint32_t site) override;
    Result<std::vector<Failure>> failures(std::int64_t run, std::size_t most) override;
    Result<std::vector<Task>> left_over(std::int64_t run) override;
    Result<void> beat(const Mover& mover, WallTime until) override;
    Result<std::optional<Mover>> mover() override;
    Result<void> take_over(std::int64_t run, const std::string& owner, WallTime now) override;
    Result<Request> request() override;
    Result<void> set_request(Request request) override;

  private:
    explicit SqliteStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
    Result<void> make_tables();
    bool somebody_conducts() const;

    std::unique_ptr<Database> database_;
    io::Descriptor conducting_;
};

}  // namespace lambda::client::replicate
