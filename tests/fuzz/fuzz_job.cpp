// The job file: any bytes give a job that can be worked with, or an error with its place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "client/replicate/job.h"
#include "common/base/assert.h"

using namespace lambda;
using namespace lambda::client::replicate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto job = parse_job(text, "/f", {});
    if (!job) {
        LAMBDA_ASSERT(job.error().fault == Fault::usage);
        LAMBDA_ASSERT(job.error().message.starts_with("/f:"));
        return 0;
    }
    LAMBDA_ASSERT(!job->roots.empty() && !job->sites.empty() && job->lanes > 0);
    LAMBDA_ASSERT(!job->relay || job->source);
    LAMBDA_ASSERT(!job->source || job->direction == session::Direction::put);
    for (const Site& site : job->sites) LAMBDA_ASSERT(!site.path.empty());
    for (int day = 0; day < 7; ++day) {
        for (const int second : {0, 1, 12 * 3600, 86399}) {
            static_cast<void>(job->windows.open({day, second}));
            LAMBDA_ASSERT(job->lane_rate({day, second}).bits_per_second >= 0);
        }
    }
#ifdef LAMBDA_FUZZ_PLANTED
    // The bug: a third destination.
    LAMBDA_ASSERT(job->sites.size() < 3);
#endif
    LAMBDA_ASSERT(parse_job(text, "/f", {})->shape() == job->shape());
    return 0;
}
