// A database that keeps a job's state, as far as the store needs it: one statement at a time, and
// transactions. The SQL is the same for all: values stand as $1, $2, ...; the statements that make
// tables take what differs from `Dialect`. Every database has the functions now_ms(), the time by
// which leases end, in milliseconds since 1970, and since_ms(), since when it
// answers here without a break. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/result.h"

namespace lambda::client::replicate {

// Strings are raw bytes.
using Value = std::variant<std::int64_t, std::string_view>;
using Values = std::vector<Value>;

// Of a result; valid within the call that it is given to.
class Row {
  public:
    virtual ~Row() = default;
    virtual std::int64_t integer(int column) const = 0;
    virtual std::string text(int column) const = 0;
};

struct Dialect {
    const char* key;          // the type of a primary key that counts by itself
    const char* for_update;   // ends a SELECT whose rows nobody else may change meanwhile
    const char* skip_locked;  // likewise, without those that somebody else has
};

class Database {
  public:
    virtual ~Database() = default;

    virtual const Dialect& dialect() const = 0;
    // Whether processes on several hosts work on it side by side. Else one process conducts at a
    // time, who holds a lock that goes with him.
    virtual bool shared() const = 0;
    // The right to conduct, for as long as this lives. False: another process has it.
    virtual Result<bool> conduct() = 0;
    virtual bool somebody_conducts() const = 0;
    // What people call it; no secret is in it.
    virtual const std::string& name() const = 0;
    // Makes the tables where there are none. Fault::file where there are those of another version.
    virtual Result<void> make_tables(const std::string& statements, std::int64_t version) = 0;

    // Runs one statement. Returns how many rows it gave or changed.
    using Each = std::function<void(const Row&)>;
    virtual Result<std::size_t> run(std::string_view sql, const Values& values = {},
                                    const Each& each = {}) = 0;
    // The same statement for `count` sets of values; `values` is filled anew for each. Within a
    // transaction.
    using Fill = std::function<void(std::size_t index, Values& values)>;
    virtual Result<void> run_many(std::string_view sql, std::size_t count, const Fill& fill) = 0;
    // Several statements without rows or values.
    virtual Result<void> execute(const std::string& sql) = 0;
    virtual Result<void> begin() = 0;
    virtual Result<void> commit() = 0;
    virtual void roll_back() = 0;

    // After an error: true where the transaction may be tried again from its beginning, as when a
    // lost connection stands again. It may have come through: who repeats it looks first. Waits
    // with back-off, within the patience of the database, and for the user's interruption.
    virtual Result<bool> recover() = 0;
    // Called each few seconds while an answer, or a lost connection, is waited for; it does nothing
    // with the database.
    using Meanwhile = std::function<void()>;
    virtual void while_waiting(Meanwhile meanwhile) = 0;
};

Error other_version(const Database& database, std::int64_t found);

// Rolled back where it is not committed.
class Transaction {
  public:
    static Result<Transaction> begin(Database& database) {
        if (auto begun = database.begin(); !begun) return begun.error();
        return Transaction(database);
    }
    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction() {
        if (database_ != nullptr) database_->roll_back();
    }
    Result<void> commit() {
        auto committed = database_->commit();
        if (committed) database_ = nullptr;
        return committed;
    }

  private:
    explicit Transaction(Database& database) : database_(&database) {}
    Database* database_;
};

}  // namespace lambda::client::replicate
