// How the store's values stand in the tables: numbers as 64-bit integers, times in milliseconds
// since 1970.
#pragma once

#include <string>
#include <type_traits>

#include "client/replicate/database.h"
#include "client/replicate/store.h"

namespace lambda::client::replicate {

inline WallTime wall(std::int64_t number) {
    return WallTime(Milliseconds(number));
}
template <typename T>
concept Enumeration = std::is_enum_v<T>;
template <Enumeration T>
constexpr std::int64_t number(T value) {
    return static_cast<std::int64_t>(value);
}
inline std::int64_t number(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}
inline std::uint64_t unsigned_of(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

// The statements name these by their numbers, which also stand in databases of before.
static_assert(number(RunState::running) == 0 && number(Request::none) == 0 &&
              number(Request::cancel) == 2);
static_assert(number(SiteState::unlisted) == 0 && number(SiteState::moving) == 1 &&
              number(SiteState::tidying) == 2 && number(SiteState::done) == 3 &&
              number(SiteState::given_up) == 4);
static_assert(number(TaskState::waiting) == 0 && number(TaskState::leased) == 1 &&
              number(TaskState::uncertain) == 2 && number(TaskState::done) == 3 &&
              number(TaskState::failed) == 4);
static_assert(number(Piece::whole) == 0 && number(Piece::range) == 1 &&
              number(Piece::finish) == 2 && number(Kind::file) == 0);

// The columns of a task, and what they hold.
constexpr const char* kTask =
    "id, root, kind, name, size, mtime, mode, attempts, piece, first, last";
inline Task task_of(const Row& row) {
    return {.id = row.integer(0),
            .root = static_cast<std::uint32_t>(row.integer(1)),
            .name = row.text(3),
            .standing = {.kind = static_cast<Kind>(row.integer(2)),
                         .size = unsigned_of(row.integer(4)),
                         .mtime_ns = row.integer(5),
                         .mode = static_cast<std::uint32_t>(row.integer(6))},
            .attempts = static_cast<std::uint32_t>(row.integer(7)),
            .piece = static_cast<Piece>(row.integer(8)),
            .bytes = {unsigned_of(row.integer(9)), unsigned_of(row.integer(10))}};
}

// The bytes that are moved with a task: those of a file that is cut are its ranges'.
constexpr const char* kBytes =
    "CAST(coalesce(sum(CASE piece WHEN 0 THEN size ELSE last - first END), 0) AS BIGINT)";

// Of those whose beats end at `until` and live for `lives`: they are gone. Who shares a database
// that was away had no way to beat, and gets time.
inline std::string gone(const std::string& lives) {
    return "until < now_ms() AND since_ms() + " + lives + " < now_ms()";
}

// What a lease is for.
constexpr std::int64_t kToCarry = 0;
constexpr std::int64_t kToCheck = 1;
constexpr std::int64_t kToLead = 2;
constexpr std::int64_t kToEnd = 3;  // the run: it says who did

}  // namespace lambda::client::replicate
