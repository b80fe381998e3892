// A job's state in one SQLite file, for the movers of one machine. Who conducts holds a lock on a
// file beside it, which goes with him.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/replicate/database.h"
#include "common/io/file/root.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lambda::client::replicate {

class SqliteDatabase final : public Database {
  public:
    // now_ms(), where it is not that of the machine.
    using Clock = std::function<std::int64_t()>;
    // Made where it is missing, and its directories. Write-ahead log, every commit flushed. Waits
    // kBusy_ms for others. Errors: Fault::file.
    static constexpr int kBusy_ms = 30'000;
    static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& file, Clock clock = {});

    const Dialect& dialect() const override;
    bool shared() const override { return false; }
    Result<bool> conduct() override;
    bool somebody_conducts() const override;
    const std::string& name() const override { return file_; }
    Result<void> make_tables(const std::string& statements, std::int64_t version) override;
    Result<std::size_t> run(std::string_view sql, const Values& values, const Each& each) override;
    Result<void> run_many(std::string_view sql, std::size_t count, const Fill& fill) override;
    Result<void> execute(const std::string& sql) override;
    Result<void> begin() override { return execute("BEGIN IMMEDIATE"); }
    Result<void> commit() override { return execute("COMMIT"); }
    void roll_back() override;
    Result<bool> recover() override { return false; }
    void while_waiting(Meanwhile) override {}

  private:
    struct Close {
        void operator()(sqlite3* handle) const;
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

    SqliteDatabase(std::string file, Clock clock)
        : file_(std::move(file)), clock_(std::move(clock)) {}
    Result<void> write_ahead();
    Result<Prepared> prepare(std::string_view sql) const;
    Result<void> step_through(sqlite3_stmt* statement, const Values& values, const Each& each,
                              std::size_t& rows) const;
    Error error(const std::string& what) const;

    std::string file_;
    Clock clock_;
    std::unique_ptr<sqlite3, Close> handle_;
    io::Descriptor conducting_;
};

}  // namespace lambda::client::replicate
