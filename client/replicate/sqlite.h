// SQLite's C interface with owners and Results. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lambda::client::replicate {

class Database;

// A prepared statement; bound, stepped and read in this order. Text and blobs are raw bytes.
class Statement {
  public:
    template <typename... Values>
    Statement& bind(const Values&... values) {
        int index = 0;
        (bind_at(++index, values), ...);
        return *this;
    }
    // True: a row stands there; false: no more.
    Result<bool> step();
    // For a statement without rows.
    Result<void> run();

    std::int64_t integer(int column) const;
    std::string text(int column) const;

  private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    void bind_at(int index, std::int64_t value);
    void bind_at(int index, std::string_view value);

    Database* database_ = nullptr;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int problem_ = 0;  // of preparing or binding, told by step()
};

class Database {
  public:
    // Made where it is missing. Write-ahead log, every commit flushed. Waits kBusy_ms for others.
    static constexpr int kBusy_ms = 30'000;
    static Result<std::unique_ptr<Database>> open(const std::string& file);

    Statement prepare(const char* sql);
    // Several statements without rows or values.
    Result<void> execute(const char* sql);
    std::int64_t last_id() const;
    const std::string& file() const { return file_; }
    Error error(const std::string& what) const;

  private:
    explicit Database(std::string file) : file_(std::move(file)) {}
    struct Close {
        void operator()(sqlite3* handle) const;
    };
    std::string file_;
    std::unique_ptr<sqlite3, Close> handle_;
};

// Rolled back where it is not committed.
class Transaction {
  public:
    static Result<Transaction> begin(Database& database);
    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Result<void> commit();

  private:
    explicit Transaction(Database& database) : database_(&database) {}
    Database* database_;
};

}  // namespace lambda::client::replicate
