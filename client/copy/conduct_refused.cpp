// CopyConductor: what is told of a server that refused to dial the other, or to grant it anything.
#include "client/copy/conduct.h"

namespace lambda::client {

std::string CopyConductor::why_refused() const {
    const bool granter = refused_->role == Role::source;
    return std::string(granter ? "the source server grants it nothing: "
                               : "the destination server cannot dial: ") +
           refused_->error.sentence();
}

// Why it is the source that dials, once it does.
void CopyConductor::tell_refused() {
    if (!refused_) return;
    report_.note(why_refused() + "; the source server does it");
    refused_.reset();
}

// Neither of them dials: said in one error, and a reason that both have once.
void CopyConductor::join_refused() {
    Error& error = error_->error;
    if (error.message != refused_->error.message) {
        error.message += "; and " + why_refused();
    } else if (error_->role != refused_->role) {
        error.message += "; the destination server says the same";
    }
}

}  // namespace lambda::client
