// A job's state in a database, SQLite's or PostgreSQL's, by the same SQL. What must be of one piece
// is one transaction; after a lost connection it is begun again, by steps that find out what had
// come through: a lease by its ticket, the end of a lease by its number.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/replicate/database.h"
#include "client/replicate/store.h"
#include "common/base/time.h"

namespace lambda::client::replicate {

class SqlStore final : public Store {
  public:
    // Rows of a plan that are written at once: they take far less than the shortest lease.
    static constexpr std::size_t kPlannedAtOnce = 5'000;
    // Rows that are deleted at once: likewise, however many a run had.
    static constexpr std::size_t kForgottenAtOnce = 20'000;

    // `job` tells the jobs of one database apart. What waits for longer than `longest_pause` was
    // put off by a clock that was ahead, and waits for nothing. Errors: Fault::file; also where it
    // is no state, or one of another version.
    static Result<std::unique_ptr<SqlStore>> open(
        std::unique_ptr<Database> database, const std::string& job,
        Milliseconds longest_pause = std::chrono::hours(24 * 365));

    bool shared() const override { return database_->shared(); }
    const std::string& epoch() const override { return epoch_; }
    void while_waiting(Meanwhile meanwhile) override {
        database_->while_waiting(std::move(meanwhile));
    }
    Result<bool> conduct() override { return database_->conduct(); }
    bool conducted() const override { return !shared() && database_->somebody_conducts(); }
    Result<std::optional<Run>> last_run() override;
    Result<std::optional<Run>> run(std::int64_t id) override;
    Result<std::vector<Run>> runs(std::size_t most) override;
    Result<Joined> join(const std::string& shape, const std::vector<std::string>& sites,
                        const std::string& owner) override;
    Result<bool> forget(std::int64_t run) override;
    Result<bool> end_run(std::int64_t run, RunState state, const std::string& owner) override;
    Result<View> view(std::int64_t run) override;
    Result<std::vector<SiteStatus>> sites(std::int64_t run) override;
    Result<std::int64_t> lead(const LeaseRequest& request) override;
    Result<bool> plan(std::int64_t lead, const Planned& planned, const Between& between) override;
    Result<bool> tidied(std::int64_t lead, const std::vector<Settled>& settled) override;
    Result<bool> moved_all(std::int64_t run, std::uint32_t site) override;
    Result<void> set_trouble(std::int64_t run, std::uint32_t site,
                             const std::string& trouble) override;
    Result<bool> give_up(std::int64_t run, std::uint32_t site, const std::string& owner,
                         const std::string& trouble) override;
    Result<void> hope_again(std::int64_t run) override;
    Result<Lease> lease(const LeaseRequest& request) override;
    Result<bool> settle(std::int64_t lease, const std::vector<Settled>& settled) override;
    Result<Waiting> waiting(std::int64_t run, std::uint32_t site) override;
    Result<std::vector<Task>> untidied(std::int64_t run, std::uint32_t site) override;
    Result<std::vector<Failure>> failures(std::int64_t run, std::size_t most) override;
    Result<std::vector<Task>> left_over(std::int64_t run) override;
    Result<std::set<std::int64_t>> beat(const Mover& mover, Milliseconds lives) override;
    Result<void> drop(std::int64_t lease) override;
    Result<void> leave(const std::string& owner) override;
    Result<Heard> others(const std::string& owner) override;
    Result<std::vector<Mover>> movers() override;
    Result<std::vector<MoverTally>> tallies(std::int64_t run) override;
    Result<std::size_t> take_over(std::int64_t run, const std::string& owner) override;
    Result<Request> request() override;
    Result<bool> set_request(Request request) override;

  private:
    // Of one step, where it is always something that may pass.
    static constexpr int kMostTries = 100;

    SqlStore(std::unique_ptr<Database> database, Milliseconds longest_pause)
        : database_(std::move(database)), longest_pause_(longest_pause) {}

    // `step`, again after what may pass; what it gathers it gathers anew.
    template <typename T>
    using Step = std::function<Result<T>(bool again)>;
    template <typename T>
    Result<T> persist(const Step<T>& step) {
        for (int tries = 0;; ++tries) {
            auto result = step(tries > 0);
            if (result || tries == kMostTries) return result;
            const auto again = database_->recover();
            if (!again) return again.error();
            if (!*again) return result;
        }
    }
    // Likewise, in a transaction.
    template <typename T>
    Result<T> keep(const Step<T>& step) {
        return persist<T>([&](bool again) -> Result<T> {
            auto transaction = Transaction::begin(*database_);
            if (!transaction) return transaction.error();
            auto result = step(again);
            if (!result) return result;
            if (auto committed = transaction->commit(); !committed) return committed.error();
            return result;
        });
    }
    // One statement by itself.
    Result<std::size_t> run_alone(std::string_view sql, const Values& values,
                                  const Database::Each& each = {});
    Result<std::vector<Task>> tasks(std::string_view sql, const Values& values);
    Result<bool> clear_plan(std::int64_t lead, const Between& between);

    // Within a transaction.
    Result<std::vector<Task>> read_tasks(std::string_view sql, const Values& values);
    Result<std::vector<Run>> runs_of(const std::string& sql, const Values& values);
    Result<Run> begin_run(const std::string& shape, const std::vector<std::string>& sites);
    Result<std::size_t> delete_some(const std::string& table, const std::string& which,
                                    const std::string& lock, const Values& values);
    Result<bool> others_work(const std::string& owner);
    Result<Heard> read_others(const std::string& owner);
    Result<std::int64_t> begin_lease(const LeaseRequest& request, std::int64_t kind,
                                     std::int64_t task);
    Result<Lease> repeated(const LeaseRequest& request);
    struct Led {
        std::int64_t run = 0, site = 0;
    };
    Result<std::optional<Led>> still_led(std::int64_t lease);
    Result<bool> came_through(std::int64_t lease);
    struct PlannedRow;  // of the table
    static std::vector<PlannedRow> rows_of(const Planned& planned);
    struct PlannedPart;
    Result<bool> plan_part(std::int64_t lead, const PlannedPart& part, bool again);
    Result<std::size_t> planned_rows(const Led& led);
    Result<void> set_tasks(const std::vector<Settled>& settled, std::int64_t lease);
    Result<void> fail_files(const std::vector<Settled>& settled);
    Result<void> end_lease(std::int64_t lease);
    Result<std::size_t> take(const std::string& which, const Values& values, bool lost);
    Result<bool> end(std::int64_t run, RunState state);
    Result<bool> ended_by(std::int64_t run, const std::string& owner);

    std::unique_ptr<Database> database_;
    const Milliseconds longest_pause_;
    std::int64_t job_ = 0;
    std::string epoch_;
};

// Where `state` says: a file of SQLite's, or postgresql://... A database that is lost is dialled
// again for as long as `patience`.
Result<std::unique_ptr<Store>> open_store(const std::string& state, const std::string& job,
                                          Duration patience, Milliseconds longest_pause);

}  // namespace lambda::client::replicate
