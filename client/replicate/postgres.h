// A job's state in a PostgreSQL database (15 or later), for movers on several hosts: all that they
// share stands in the schema lambda_ftp. Time is the database's. A connection that is lost, or over
// which no answer comes, is made again with back-off, for as long as the patience lasts. No
// statement holds up the user's interruption for long.
#pragma once

#include <memory>
#include <string>

#include "client/replicate/database.h"
#include "common/base/time.h"

struct pg_conn;
struct pg_result;

namespace lambda::client::replicate {

// Whether a job's `state` is meant for this.
bool is_postgres(std::string_view state);
// Whether the URI has a password in it.
bool has_password(const std::string& uri);

class PostgresDatabase final : public Database {
  public:
    // `uri` as libpq takes it. Errors: Fault::usage (the URI), Fault::session (nobody answers, or
    // refuses us), Fault::unsupported (no libpq here).
    static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& uri,
                                                          Duration patience);

    const Dialect& dialect() const override;
    bool shared() const override { return true; }
    Result<bool> conduct() override { return true; }
    bool somebody_conducts() const override { return true; }
    const std::string& name() const override { return name_; }
    Result<void> make_tables(const std::string& statements, std::int64_t version) override;
    Result<std::size_t> run(std::string_view sql, const Values& values, const Each& each) override;
    Result<void> run_many(std::string_view sql, std::size_t count, const Fill& fill) override;
    Result<void> execute(const std::string& sql) override;
    Result<void> begin() override { return execute("BEGIN"); }
    Result<void> commit() override { return execute("COMMIT"); }
    void roll_back() override;
    Result<bool> recover() override;
    void while_waiting(Meanwhile meanwhile) override { meanwhile_ = std::move(meanwhile); }

  private:
    struct Close {
        void operator()(pg_conn* connection) const;
    };
    struct Clear {
        void operator()(pg_result* result) const;
    };
    using Answer = std::unique_ptr<pg_result, Clear>;

    PostgresDatabase(std::string uri, std::string name, Duration patience)
        : uri_(std::move(uri)), name_(std::move(name)), patience_(patience) {}
    Result<void> connect();
    bool answers() const;
    // What the database says next; nothing at the end of a statement. An error: the connection
    // does not stand any more.
    Result<Answer> answer();
    Result<void> await();
    Result<void> check(const Answer& answer);
    Result<void> take_answers(std::size_t count);
    // Whether statements may go over the connection.
    bool stands() const;
    // What libpq itself met, or what ended the connection: libpq may still call it good.
    Error broken(const std::string& why = {});
    Error error(Fault fault, const std::string& why) const;

    const std::string uri_;
    const std::string name_;
    const Duration patience_;
    Meanwhile meanwhile_;
    std::unique_ptr<pg_conn, Close> connection_;
    bool broken_ = false;
    bool again_ = false;  // the last error was that others were in the way
    bool last_ = false;   // the connection was made again since the user's interruption
};

}  // namespace lambda::client::replicate
