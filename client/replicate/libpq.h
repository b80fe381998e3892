// PostgreSQL's client library, taken in by the first who asks for it. Linked, it would come with
// every command, and it brings some twenty libraries (LDAP, Kerberos, GnuTLS): half of what a
// command takes to start. Any thread.
#pragma once

#include <libpq-fe.h>

#include "common/base/result.h"

namespace lambda::client::replicate {

// clang-format off
#define LAMBDA_LIBPQ_FUNCTIONS(each)                                                           \
    each(PQclear) each(PQcmdTuples) each(PQconnectdbParams) each(PQconninfoFree)               \
    each(PQconninfoParse) each(PQconsumeInput) each(PQenterPipelineMode) each(PQerrorMessage)  \
    each(PQexitPipelineMode) each(PQfinish) each(PQflush) each(PQfreemem) each(PQgetResult)    \
    each(PQgetlength) each(PQgetvalue) each(PQisBusy) each(PQntuples) each(PQpingParams)       \
    each(PQpipelineSync) each(PQresultErrorField) each(PQresultStatus) each(PQsendQuery)       \
    each(PQsendQueryParams) each(PQsetNoticeProcessor) each(PQsetnonblocking) each(PQsocket)   \
    each(PQstatus) each(PQtransactionStatus)
// clang-format on

struct Libpq {
#define LAMBDA_MEMBER(name) decltype(&::name) name = nullptr;
    LAMBDA_LIBPQ_FUNCTIONS(LAMBDA_MEMBER)
#undef LAMBDA_MEMBER
};

// Error: Fault::unsupported, it is not on this machine or has not all of these.
const Result<Libpq>& libpq();

}  // namespace lambda::client::replicate
