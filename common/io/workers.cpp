#include "common/io/workers.h"

#include <new>
#include <utility>

#include "common/base/assert.h"
#include "common/io/process.h"

namespace lambda::io {

Result<std::unique_ptr<Workers>> Workers::make(unsigned threads, std::size_t most_jobs,
                                               std::function<void()> lost) {
    std::unique_ptr<Workers> workers(new Workers(most_jobs, std::move(lost)));
    workers->threads_.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) {
        auto thread = start_thread([all = workers.get()] { all->run(); });
        if (!thread) return thread.error();
        workers->threads_.push_back(*std::move(thread));
    }
    return workers;
}

Workers::~Workers() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    more_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Workers::post(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        LAMBDA_ASSERT(jobs_.size() < most_jobs_);
        jobs_.push_back(std::move(job));
    }
    more_.notify_one();
}

void Workers::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        more_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        {
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            try {
                job();
            } catch (const std::bad_alloc&) {
                if (!lost_) throw;
                lost_();
            }
            // What the job holds is let go here too, without the lock: it may remove a file.
        }
        lock.lock();
    }
}

}  // namespace lambda::io
