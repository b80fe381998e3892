#include "client/replicate/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "client/home/home.h"

namespace lambda::client::replicate {
namespace {

constexpr const char* kCannot = "cannot keep or read the job's state";

struct flock exclusive() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

std::int64_t machine_ms() {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now())
        .time_since_epoch()
        .count();
}

void give_now(sqlite3_context* context, int, sqlite3_value**) {
    const auto* clock = static_cast<SqliteDatabase::Clock*>(::sqlite3_user_data(context));
    ::sqlite3_result_int64(context, (*clock)());
}

void give_zero(sqlite3_context* context, int, sqlite3_value**) {
    ::sqlite3_result_int64(context, 0);
}

int bind(sqlite3_stmt* statement, int index, const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value))
        return ::sqlite3_bind_int64(statement, index, *number);
    const std::string_view text = std::get<std::string_view>(value);
    const char* const bytes = text.empty() ? "" : text.data();  // a null pointer would be NULL
    return ::sqlite3_bind_blob64(statement, index, bytes, text.size(),
                                 SQLITE_TRANSIENT);  // NOLINT(*-cast*)
}

int bind(sqlite3_stmt* statement, const Values& values) {
    int problem = SQLITE_OK;
    for (std::size_t i = 0; i < values.size() && problem == SQLITE_OK; ++i) {
        const std::string place = "$" + std::to_string(i + 1);
        problem =
            bind(statement, ::sqlite3_bind_parameter_index(statement, place.c_str()), values[i]);
    }
    return problem;
}

class SqliteRow final : public Row {
  public:
    explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
    std::int64_t integer(int column) const override {
        return ::sqlite3_column_int64(statement_, column);
    }
    std::string text(int column) const override {
        const void* const bytes = ::sqlite3_column_blob(statement_, column);
        const int size = ::sqlite3_column_bytes(statement_, column);
        if (bytes == nullptr || size <= 0) return {};
        return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
    }

  private:
    sqlite3_stmt* statement_;
};

}  // namespace

void SqliteDatabase::Close::operator()(sqlite3* handle) const {
    ::sqlite3_close_v2(handle);
}

void SqliteDatabase::Finalize::operator()(sqlite3_stmt* statement) const {
    ::sqlite3_finalize(statement);
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& file, Clock clock) {
    if (const std::size_t slash = file.rfind('/'); slash != file.npos && slash > 0) {
        if (auto made = make_directories(file.substr(0, slash)); !made) return made.error();
    }
    // What SQLite makes beside it has its rights. Of one that stands no descriptor may be closed:
    // this process would lose its locks.
    if (io::Descriptor fresh(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        !fresh && errno != EEXIST)
        return errno_error(Fault::file, "cannot make the job's state", file, errno);
    std::unique_ptr<SqliteDatabase> database(
        new SqliteDatabase(file, clock ? std::move(clock) : machine_ms));
    sqlite3* handle = nullptr;
    const int opened = ::sqlite3_open_v2(
        file.c_str(), &handle,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        nullptr);
    database->handle_.reset(handle);
    if (opened != SQLITE_OK ||
        ::sqlite3_create_function_v2(handle, "now_ms", 0, SQLITE_UTF8, &database->clock_, give_now,
                                     nullptr, nullptr, nullptr) != SQLITE_OK ||
        ::sqlite3_create_function_v2(handle, "since_ms", 0, SQLITE_UTF8, nullptr, give_zero,
                                     nullptr, nullptr, nullptr) != SQLITE_OK)
        return database->error("cannot open the job's state");
    ::sqlite3_busy_timeout(handle, kBusy_ms);
    if (const auto set = database->write_ahead(); !set) return set.error();
    const auto set = database->execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
    if (!set) return set.error();
    return database;
}

// SQLite itself does not wait for who opens a fresh file at the same moment.
Result<void> SqliteDatabase::write_ahead() {
    int waited_ms = 0;
    while (true) {
        const int problem =
            ::sqlite3_exec(handle_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
        if (problem == SQLITE_OK) return {};
        if ((problem & 0xff) != SQLITE_BUSY || waited_ms >= kBusy_ms) return error(kCannot);
        waited_ms += std::max(1, ::sqlite3_sleep(5));
    }
}

const Dialect& SqliteDatabase::dialect() const {
    static constexpr Dialect kDialect{
        .key = "INTEGER PRIMARY KEY", .for_update = "", .skip_locked = ""};
    return kDialect;
}

Result<void> SqliteDatabase::make_tables(const std::string& statements, std::int64_t version) {
    auto transaction = Transaction::begin(*this);
    if (!transaction) return transaction.error();
    std::int64_t found = 0;
    const auto asked =
        run("PRAGMA user_version", {}, [&](const Row& row) { found = row.integer(0); });
    if (!asked) return asked.error();
    if (found == version) return transaction->commit();
    if (found != 0) return other_version(*this, found);
    const auto made =
        execute(statements + "PRAGMA user_version = " + std::to_string(version) + ";");
    if (!made) return made;
    return transaction->commit();
}

Result<bool> SqliteDatabase::conduct() {
    const std::string file = file_ + ".lock";
    io::Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock) return errno_error(Fault::file, "cannot open", file, errno);
    struct flock whole = exclusive();
    if (::fcntl(lock.get(), F_OFD_SETLK, &whole) == 0) {
        conducting_ = std::move(lock);
        return true;
    }
    if (errno == EAGAIN || errno == EACCES) return false;
    return errno_error(Fault::file, "cannot lock", file, errno);
}

bool SqliteDatabase::somebody_conducts() const {
    const io::Descriptor lock(::open((file_ + ".lock").c_str(), O_RDWR | O_CLOEXEC));
    struct flock whole = exclusive();
    return lock && ::fcntl(lock.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

Result<SqliteDatabase::Prepared> SqliteDatabase::prepare(std::string_view sql) const {
    sqlite3_stmt* made = nullptr;
    const int problem = ::sqlite3_prepare_v2(handle_.get(), sql.data(),
                                             static_cast<int>(sql.size()), &made, nullptr);
    Prepared statement(made);
    if (problem != SQLITE_OK) return error(kCannot);
    return statement;
}

Result<void> SqliteDatabase::step_through(sqlite3_stmt* statement, const Values& values,
                                          const Each& each, std::size_t& rows) const {
    if (bind(statement, values) != SQLITE_OK) return error(kCannot);
    const SqliteRow row(statement);
    int got = ::sqlite3_step(statement);
    for (; got == SQLITE_ROW; got = ::sqlite3_step(statement)) {
        ++rows;
        if (each) each(row);
    }
    if (got != SQLITE_DONE) return error(kCannot);
    if (::sqlite3_column_count(statement) == 0)
        rows += static_cast<std::size_t>(::sqlite3_changes(handle_.get()));
    ::sqlite3_reset(statement);
    return {};
}

Result<std::size_t> SqliteDatabase::run(std::string_view sql, const Values& values,
                                        const Each& each) {
    const auto statement = prepare(sql);
    if (!statement) return statement.error();
    std::size_t rows = 0;
    if (auto stepped = step_through(statement->get(), values, each, rows); !stepped)
        return stepped.error();
    return rows;
}

Result<void> SqliteDatabase::run_many(std::string_view sql, std::size_t count, const Fill& fill) {
    const auto statement = prepare(sql);
    if (!statement) return statement.error();
    Values values;
    for (std::size_t i = 0, rows = 0; i < count; ++i) {
        values.clear();
        fill(i, values);
        if (auto stepped = step_through(statement->get(), values, {}, rows); !stepped)
            return stepped;
    }
    return {};
}

Result<void> SqliteDatabase::execute(const std::string& sql) {
    if (::sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK)
        return {};
    return error(kCannot);
}

void SqliteDatabase::roll_back() {
    [[maybe_unused]] const auto rolled = execute("ROLLBACK");
}

Error SqliteDatabase::error(const std::string& what) const {
    const char* const why = handle_ ? ::sqlite3_errmsg(handle_.get()) : "no memory";
    // The primary one: what an extended one says beside it changes no advice.
    const int code = handle_ ? ::sqlite3_errcode(handle_.get()) & 0xff : SQLITE_NOMEM;
    const int system = handle_ ? ::sqlite3_system_errno(handle_.get()) : 0;
    std::string remedy = "check that the file can be written and is a job's state";
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        remedy =
            "move the file away; the next run plans anew, and what stands at the destinations "
            "does not move again";
    if (code == SQLITE_FULL) remedy = "free space there";
    const bool told = system != 0 && (code == SQLITE_CANTOPEN || code == SQLITE_IOERR);
    return Error{
        .fault = Fault::file,
        .message = what + ": " + why + (told ? ": " + std::string(std::strerror(system)) : ""),
        .path = file_,
        .side = Side::local,
        .remedy = std::move(remedy)};
}

}  // namespace lambda::client::replicate
