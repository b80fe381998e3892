#include "client/replicate/libpq.h"

#include <dlfcn.h>

namespace lambda::client::replicate {
namespace {

constexpr const char* kName = "libpq.so.5";

Error missing() {
    const char* const why = ::dlerror();
    return Error{.fault = Fault::unsupported,
                 .message = std::string("cannot take in PostgreSQL's client library: ") +
                            (why != nullptr ? why : "no reason was given"),
                 .path = kName,
                 .side = Side::local,
                 .remedy = "install libpq 14 or later (the package libpq5)"};
}

Result<Libpq> take_in() {
    void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return missing();
    Libpq made;
#define LAMBDA_FIND(name)                                                       \
    made.name = reinterpret_cast<decltype(made.name)>(::dlsym(library, #name)); \
    if (made.name == nullptr) return missing();
    LAMBDA_LIBPQ_FUNCTIONS(LAMBDA_FIND)
#undef LAMBDA_FIND
    return made;
}

}  // namespace

const Result<Libpq>& libpq() {
    static const Result<Libpq> kTaken = take_in();
    return kTaken;
}

}  // namespace lambda::client::replicate
