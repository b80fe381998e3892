// Result<T>: an expected failure as a value. Exceptions stay inside start-up and third-party edges.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "common/base/assert.h"

namespace lambda {

// Whose part failed; a user reads it before the cause.
enum class Side { local, remote, network };

// What kind of failure it was. The exit code of the client follows from it (docs/protocol.md §9).
enum class Fault {
    usage,        // the command line or a setting
    file,         // one file: missing, unreadable, changed, full disk, refused
    session,      // no session: connection, host key, authentication
    integrity,    // digests differ
    cut,          // a session that stood was lost, or the user interrupted
    protocol,     // the peer said what it may not say
    unsupported,  // this machine or this peer cannot do it
};

// One sentence in parts: what happened, where, why, and what to do about it.
// The analyzer loses track of which alternative a std::variant holds, and warns of Result::error().
// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
struct Error {
    Fault fault = Fault::protocol;
    std::string message;  // what and why, without the path: "cannot write: no space left on device"
    std::string path;     // the file concerned, raw bytes; empty if none
    Side side = Side::local;
    std::string remedy;    // what the user can do; empty if nothing
    int error_number = 0;  // errno, of errno_error(); no other process hears of it

    // "PATH (on the server): MESSAGE; REMEDY"
    std::string sentence() const;
};

const char* to_string(Side side);
const char* to_string(Fault fault);

// An Error from errno: message = "WHAT: strerror", with the remedy of a full disk or quota and of
// too many open files.
Error errno_error(Fault fault, std::string what, std::string path, int error_number);

template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & {
        LAMBDA_ASSERT(ok());
        return std::get<0>(state_);
    }
    const T& value() const& {
        LAMBDA_ASSERT(ok());
        return std::get<0>(state_);
    }
    T&& value() && {
        LAMBDA_ASSERT(ok());
        return std::get<0>(std::move(state_));
    }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }

    const Error& error() const {
        LAMBDA_ASSERT(!ok());
        return std::get<1>(state_);
    }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }
    const Error& error() const {
        LAMBDA_ASSERT(error_.has_value());
        return *error_;
    }

  private:
    std::optional<Error> error_;
};

}  // namespace lambda
