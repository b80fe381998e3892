#include "client/replicate/postgres.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "client/replicate/libpq.h"
#include "client/waiting.h"

namespace lambda::client::replicate {
namespace {

using std::chrono::milliseconds;

// After libpq() was asked and had it: whoever has a database or options of one.
const Libpq& pq() {
    return *libpq();
}

// Types of values: int8 and bytea, both in binary (PostgreSQL 15, pg_type.dat).
constexpr Oid kInteger = 20;
constexpr Oid kBytes = 17;
// Statements that go out before their answers are read: few enough that neither side's socket
// buffer holds up the other with names of 4 KiB.
constexpr std::size_t kAtOnce = 128;
// Pauses before a lost database is dialled again double between these.
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{5000};

// An answer may take as long as the statement may (kManners), and the user has less patience. A
// database whose machine hangs, so that TCP finds nothing, does not answer new connections either.
constexpr Duration kLongestAnswer = std::chrono::minutes(11);
constexpr Duration kLastAnswer = std::chrono::seconds(10);
constexpr Duration kQuiet = std::chrono::seconds(15);
// Between two calls of what is done meanwhile.
constexpr Duration kMeanwhile = std::chrono::seconds(1);

// A transaction of one who was stopped in the middle must not hold up the others; the lost reach us
// by TCP's own means. What is read within a transaction is what others have written meanwhile,
// whatever the database's own default.
constexpr const char* kManners =
    "SET default_transaction_isolation = 'read committed'; "
    "SET client_min_messages = warning; SET search_path = lambda_ftp; "
    "SET idle_in_transaction_session_timeout = '10s'; SET lock_timeout = '30s'; "
    "SET statement_timeout = '10min'; SET synchronous_commit = on";

// What the URI says comes later and overrules. The state is written, so of several hosts the one is
// meant where it can be.
constexpr std::array kKeywords{
    "fallback_application_name", "connect_timeout",  "keepalives_idle",
    "keepalives_interval",       "keepalives_count", "target_session_attrs",
    "tcp_user_timeout",          "dbname",           static_cast<const char*>(nullptr)};
std::array<const char*, kKeywords.size()> values_of(const std::string& uri) {
    return {"lambda-ftp", "10", "10", "5", "3", "read-write", "30000", uri.c_str(), nullptr};
}

// Movers that begin at the same time make them one after the other.
constexpr const char* kLockOfTables = "SELECT pg_advisory_xact_lock(7812163401)";
constexpr const char* kSchema =
    "CREATE SCHEMA IF NOT EXISTS lambda_ftp; "
    "CREATE TABLE version(number BIGINT); "
    "CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE SQL VOLATILE AS "
    "$$ SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) $$; "
    "CREATE FUNCTION since_ms() RETURNS BIGINT LANGUAGE SQL STABLE AS "
    "$$ SELECT CAST(extract(epoch FROM greatest(pg_postmaster_start_time(), "
    "(SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()))) * 1000 "
    "AS BIGINT) $$; ";

void put_big_endian(std::int64_t number, char* into) {
    auto rest = static_cast<std::uint64_t>(number);
    for (int i = 7; i >= 0; --i, rest >>= 8) into[i] = static_cast<char>(rest & 0xff);
}

// What PQexecParams takes.
class Parameters {
  public:
    explicit Parameters(const Values& values) : numbers_(values.size()) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (const auto* number = std::get_if<std::int64_t>(&values[i])) {
                put_big_endian(*number, numbers_[i].data());
                add(kInteger, {numbers_[i].data(), numbers_[i].size()});
            } else {
                add(kBytes, std::get<std::string_view>(values[i]));
            }
        }
    }
    int count() const { return static_cast<int>(types.size()); }

    std::vector<Oid> types;
    std::vector<const char*> places;
    std::vector<int> lengths, formats;

  private:
    void add(Oid type, std::string_view bytes) {
        types.push_back(type);
        places.push_back(bytes.empty() ? "" : bytes.data());  // a null pointer would be NULL
        lengths.push_back(static_cast<int>(bytes.size()));
        formats.push_back(1);
    }
    std::vector<std::array<char, 8>> numbers_;
};

class PostgresRow final : public Row {
  public:
    PostgresRow(const PGresult* result, int row) : result_(result), row_(row) {}
    std::int64_t integer(int column) const override {
        const std::string bytes = text(column);  // int4 or int8
        std::uint64_t number = !bytes.empty() && (bytes[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
        for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
        return static_cast<std::int64_t>(number);
    }
    std::string text(int column) const override {
        return {pq().PQgetvalue(result_, row_, column),
                static_cast<std::size_t>(pq().PQgetlength(result_, row_, column))};
    }

  private:
    const PGresult* result_;
    int row_;
};

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { pq().PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string value_of(const Options& options, std::string_view keyword) {
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        if (option->keyword == keyword) return option->val != nullptr ? option->val : "";
    }
    return {};
}

// libpq would take what stands before it for the name of a host, or of the database, and show it:
// it may be a part of the password.
bool has_stray_at(std::string_view uri) {
    uri.remove_prefix(uri.find("//") + 2);
    const std::size_t slash = std::min(uri.find('/'), uri.size());
    const std::string_view hosts = uri.substr(0, slash);
    const std::string_view name = uri.substr(slash, uri.find('?', slash) - slash);
    return name.find('@') != name.npos || hosts.find('@') != hosts.rfind('@');
}

// What libpq quotes of a URI may be a part of the password.
std::string without_quoted(const std::string& text) {
    const std::size_t quoted = text.find('"');
    return quoted == text.npos ? text : text.substr(0, quoted) + "...";
}

std::string one_line(const char* message) {
    std::string text = message;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

}  // namespace

bool is_postgres(std::string_view state) {
    return state.starts_with("postgresql://") || state.starts_with("postgres://");
}

bool has_password(const std::string& uri) {
    if (!libpq()) return false;  // open() says so
    const Options options(pq().PQconninfoParse(uri.c_str(), nullptr));
    return options && !value_of(options, "password").empty();
}

void PostgresDatabase::Close::operator()(pg_conn* connection) const {
    pq().PQfinish(connection);
}

void PostgresDatabase::Clear::operator()(pg_result* result) const {
    pq().PQclear(result);
}

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(const std::string& uri,
                                                                 Duration patience) {
    if (!libpq()) return libpq().error();
    char* wrong = nullptr;
    const Options options(pq().PQconninfoParse(uri.c_str(), &wrong));
    const std::string why = wrong != nullptr ? without_quoted(one_line(wrong))
                            : !options       ? "no memory"
                                             : "it has an @ more than it can have";
    pq().PQfreemem(wrong);
    if (!options || has_stray_at(uri)) {
        return Error{.fault = Fault::usage,
                     .message = "is no URI of a database: " + why,
                     .path = "state",
                     .side = Side::local,
                     .remedy =
                         "write it as postgresql://USER@HOST/DATABASE; in a password % is %25, "
                         "/ is %2F and @ is %40"};
    }
    const std::string place =
        "postgresql://" + value_of(options, "host") + "/" + value_of(options, "dbname");
    std::unique_ptr<PostgresDatabase> database(new PostgresDatabase(uri, place, patience));
    if (auto connected = database->connect(); !connected) return connected.error();
    return database;
}

Result<void> PostgresDatabase::connect() {
    connection_.reset(pq().PQconnectdbParams(kKeywords.data(), values_of(uri_).data(), 1));
    broken_ = false;
    // It would write to stderr by itself what the database tells a connection that ends.
    if (connection_)
        pq().PQsetNoticeProcessor(
            connection_.get(), [](void*, const char*) {}, nullptr);
    if (!connection_ || pq().PQstatus(connection_.get()) != CONNECTION_OK) {
        return error(Fault::session,
                     connection_ ? one_line(pq().PQerrorMessage(connection_.get())) : "no memory");
    }
    pq().PQsetnonblocking(connection_.get(), 1);
    return execute(kManners);
}

bool PostgresDatabase::answers() const {
    return pq().PQpingParams(kKeywords.data(), values_of(uri_).data(), 1) == PQPING_OK;
}

const Dialect& PostgresDatabase::dialect() const {
    static constexpr Dialect kDialect{.key = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
                                      .for_update = " FOR UPDATE",
                                      .skip_locked = " FOR UPDATE SKIP LOCKED"};
    return kDialect;
}

Result<void> PostgresDatabase::make_tables(const std::string& statements, std::int64_t version) {
    auto transaction = Transaction::begin(*this);
    if (!transaction) return transaction.error();
    if (auto locked = execute(kLockOfTables); !locked) return locked;
    bool there = false;
    const auto asked = run("SELECT 1 WHERE to_regclass('lambda_ftp.version') IS NOT NULL", {},
                           [&](const Row&) { there = true; });
    if (!asked) return asked.error();
    if (there) {
        std::int64_t found = 0;
        const auto read =
            run("SELECT number FROM version", {}, [&](const Row& row) { found = row.integer(0); });
        if (!read) return read.error();
        return found == version ? transaction->commit() : other_version(*this, found);
    }
    const auto made = execute(kSchema + statements + "INSERT INTO version VALUES(" +
                              std::to_string(version) + ")");
    if (!made) return made;
    return transaction->commit();
}

Result<void> PostgresDatabase::check(const Answer& answer) {
    const ExecStatusType status = pq().PQresultStatus(answer.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_SYNC)
        return {};
    const char* const code = pq().PQresultErrorField(answer.get(), PG_DIAG_SQLSTATE);
    const std::string_view state = code != nullptr ? code : "";
    // It is no longer the one that is written to: another may be found.
    if (state == "25006") return broken();
    // A deadlock was broken, or somebody held a lock for too long.
    if (state == "40001" || state == "40P01" || state == "55P03") again_ = true;
    const bool skipped = status == PGRES_PIPELINE_ABORTED;  // for an error of one before it
    const char* const severity =
        pq().PQresultErrorField(answer.get(), PG_DIAG_SEVERITY_NONLOCALIZED);
    if (!skipped && (severity == nullptr || std::string_view(severity) != "ERROR")) return broken();
    return error(Fault::file, one_line(pq().PQerrorMessage(connection_.get())));
}

Result<void> PostgresDatabase::await() {
    pg_conn* const connection = connection_.get();
    Time give_up = now() + kLongestAnswer;
    Time quiet = now() + kQuiet;
    Time next = now() + kMeanwhile;
    for (bool heard = false;;) {
        const int unsent = pq().PQflush(connection);
        if (unsent < 0) return broken();
        if (unsent == 0 && pq().PQisBusy(connection) == 0) return {};
        if (!heard && interrupted()) {
            heard = true;
            give_up = std::min(give_up, now() + kLastAnswer);
        }
        const bool silent = now() >= give_up || (now() >= quiet && !answers());
        if (silent) return broken("it does not answer");
        if (now() >= quiet) quiet = now() + kQuiet;
        if (now() >= next) {
            if (meanwhile_) meanwhile_();
            next = now() + kMeanwhile;
        }
        const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
        pollfd ears[] = {{.fd = pq().PQsocket(connection), .events = events, .revents = 0},
                         {.fd = interruption().fd(), .events = POLLIN, .revents = 0}};
        poll_until(std::span(ears, heard ? 1 : 2), std::min({give_up, quiet, next}));
        if (ears[0].revents != 0 && pq().PQconsumeInput(connection) == 0) return broken();
    }
}

Result<PostgresDatabase::Answer> PostgresDatabase::answer() {
    if (auto come = await(); !come) return come.error();
    return Answer(pq().PQgetResult(connection_.get()));
}

Result<std::size_t> PostgresDatabase::run(std::string_view sql, const Values& values,
                                          const Each& each) {
    const Parameters sent(values);
    if (pq().PQsendQueryParams(connection_.get(), std::string(sql).c_str(), sent.count(),
                               sent.types.data(), sent.places.data(), sent.lengths.data(),
                               sent.formats.data(), 1) != 1)
        return broken();
    const auto said = answer();
    if (!said) return said.error();
    if (auto good = check(*said); !good) {
        if (stands()) static_cast<void>(answer());  // its end
        return good.error();
    }
    if (const auto end = answer(); !end) return end.error();
    if (pq().PQresultStatus(said->get()) == PGRES_COMMAND_OK) {
        const std::string changed = pq().PQcmdTuples(said->get());
        return changed.empty() ? 0 : std::stoull(changed);
    }
    const int rows = pq().PQntuples(said->get());
    for (int i = 0; each && i < rows; ++i) each(PostgresRow(said->get(), i));
    return static_cast<std::size_t>(rows);
}

Result<void> PostgresDatabase::run_many(std::string_view sql, std::size_t count, const Fill& fill) {
    if (pq().PQenterPipelineMode(connection_.get()) != 1) return broken();
    const std::string statement(sql);
    Values values;
    Result<void> good;
    for (std::size_t done = 0; good && done < count;) {
        const std::size_t now = std::min(kAtOnce, count - done);
        bool sent = true;
        for (std::size_t i = 0; i < now && sent; ++i) {
            values.clear();
            fill(done + i, values);
            const Parameters one(values);
            sent = pq().PQsendQueryParams(connection_.get(), statement.c_str(), one.count(),
                                          one.types.data(), one.places.data(), one.lengths.data(),
                                          one.formats.data(), 1) == 1;
        }
        if (!sent || pq().PQpipelineSync(connection_.get()) != 1) {
            good = broken();
        } else {
            good = take_answers(now);
        }
        done += now;
    }
    if (pq().PQexitPipelineMode(connection_.get()) != 1 && good) good = broken();
    return good;
}

// Of so many statements, and of the end of their pipeline. All are read, also after an error.
Result<void> PostgresDatabase::take_answers(std::size_t count) {
    Result<void> good;
    for (std::size_t i = 0; i <= count; ++i) {
        while (true) {
            const auto said = answer();
            if (!said) return good ? said.error() : good;
            if (!*said) break;
            if (pq().PQresultStatus(said->get()) == PGRES_PIPELINE_SYNC) return good;
            if (auto one = check(*said); !one && good) good = one;
        }
        if (pq().PQstatus(connection_.get()) != CONNECTION_OK) break;
    }
    return good ? broken() : good;
}

Result<void> PostgresDatabase::execute(const std::string& sql) {
    if (pq().PQsendQuery(connection_.get(), sql.c_str()) != 1) return broken();
    Result<void> good;
    while (true) {
        const auto said = answer();
        if (!said) return good ? said.error() : good;
        if (!*said) return good;
        if (auto one = check(*said); !one && good) good = one;
    }
}

void PostgresDatabase::roll_back() {
    if (!stands() || pq().PQtransactionStatus(connection_.get()) == PQTRANS_IDLE) return;
    [[maybe_unused]] const auto rolled = execute("ROLLBACK");
}

Result<bool> PostgresDatabase::recover() {
    if (stands()) return std::exchange(again_, false);
    // What was in hand is given back over another connection, or not at all.
    if (interrupted() && std::exchange(last_, true)) return interruption_error();
    const Time give_up = client::now() + patience_;
    milliseconds pause = kFirstPause;
    while (true) {
        const auto connected = connect();
        if (connected) return true;
        if (interrupted()) return interruption_error();
        if (client::now() >= give_up) return connected.error();
        if (meanwhile_) meanwhile_();
        pollfd user{.fd = interruption().fd(), .events = POLLIN, .revents = 0};
        poll_until({&user, 1}, client::now() + pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

bool PostgresDatabase::stands() const {
    return !broken_ && pq().PQstatus(connection_.get()) == CONNECTION_OK;
}

Error PostgresDatabase::broken(const std::string& why) {
    broken_ = true;
    return error(Fault::session,
                 why.empty() ? one_line(pq().PQerrorMessage(connection_.get())) : why);
}

Error PostgresDatabase::error(Fault fault, const std::string& why) const {
    const bool lost = !stands();
    return Error{.fault = lost ? Fault::session : fault,
                 .message = "cannot keep or read the job's state: " + why,
                 .path = name_,
                 .side = lost ? Side::network : Side::local,
                 .remedy = lost ? "check that the database runs and lets this user in"
                                : "check the rights of the user in the database, and its room"};
}

}  // namespace lambda::client::replicate
