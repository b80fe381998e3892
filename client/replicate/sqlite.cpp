#include "client/replicate/sqlite.h"

#include <sqlite3.h>

namespace lambda::client::replicate {

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
    ::sqlite3_finalize(statement);
}

void Statement::bind_at(int index, std::int64_t value) {
    if (problem_ == SQLITE_OK) problem_ = ::sqlite3_bind_int64(statement_.get(), index, value);
}

void Statement::bind_at(int index, std::string_view value) {
    if (problem_ != SQLITE_OK) return;
    const char* const bytes = value.empty() ? "" : value.data();  // a null pointer would be NULL
    problem_ = ::sqlite3_bind_blob64(statement_.get(), index, bytes, value.size(),
                                     SQLITE_TRANSIENT);  // NOLINT(*-cast*)
}

Result<bool> Statement::step() {
    if (problem_ == SQLITE_OK) {
        const int got = ::sqlite3_step(statement_.get());
        if (got == SQLITE_ROW) return true;
        ::sqlite3_reset(statement_.get());
        if (got == SQLITE_DONE) return false;
    }
    return database_->error("cannot keep or read the job's state");
}

Result<void> Statement::run() {
    const auto stepped = step();
    if (!stepped) return stepped.error();
    LAMBDA_ASSERT(!*stepped);
    return {};
}

std::int64_t Statement::integer(int column) const {
    return ::sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
    const void* const bytes = ::sqlite3_column_blob(statement_.get(), column);
    const int size = ::sqlite3_column_bytes(statement_.get(), column);
    if (bytes == nullptr || size <= 0) return {};
    return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

void Database::Close::operator()(sqlite3* handle) const {
    ::sqlite3_close_v2(handle);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& file) {
    std::unique_ptr<Database> database(new Database(file));
    sqlite3* handle = nullptr;
    const int opened = ::sqlite3_open_v2(
        file.c_str(), &handle,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        nullptr);
    database->handle_.reset(handle);
    if (opened != SQLITE_OK) return database->error("cannot open the job's state");
    ::sqlite3_busy_timeout(handle, kBusy_ms);
    const auto set = database->execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
    if (!set) return set.error();
    return database;
}

Statement Database::prepare(const char* sql) {
    Statement statement;
    statement.database_ = this;
    sqlite3_stmt* made = nullptr;
    statement.problem_ = ::sqlite3_prepare_v2(handle_.get(), sql, -1, &made, nullptr);
    statement.statement_.reset(made);
    return statement;
}

Result<void> Database::execute(const char* sql) {
    if (::sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return error("cannot keep or read the job's state");
}

std::int64_t Database::last_id() const {
    return ::sqlite3_last_insert_rowid(handle_.get());
}

Error Database::error(const std::string& what) const {
    const char* const why = handle_ ? ::sqlite3_errmsg(handle_.get()) : "no memory";
    return Error{.fault = Fault::file,
                 .message = what + ": " + why,
                 .path = file_,
                 .side = Side::local,
                 .remedy = "check that the file can be written and is a job's state"};
}

Result<Transaction> Transaction::begin(Database& database) {
    if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun.error();
    return Transaction(database);
}

Transaction::~Transaction() {
    if (database_ == nullptr) return;
    [[maybe_unused]] const auto rolled = database_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
    auto committed = database_->execute("COMMIT");
    if (committed) database_ = nullptr;
    return committed;
}

}  // namespace lambda::client::replicate
