// What a finisher does without memory.
#include "common/io/disk/finisher.h"

#include <fcntl.h>

#include <atomic>
#include <new>
#include <semaphore>
#include <utility>

#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

TEST_CASE("finisher: want of memory loses what is in hand, and nothing that comes later") {
    const bool in_directory = GENERATE(false, true);  // then it is told by the other thread
    const Folder folder;
    std::atomic<bool> no_memory = true;
    std::counting_semaphore<> lost{0}, done{0};
    const Root root = Root::machine();
    auto finisher = std::move(Finisher::make(
                                  root,
                                  [&](const Made&, const std::optional<Error>& error) {
                                      if (no_memory) throw std::bad_alloc();
                                      if (!error) done.release();
                                  },
                                  [&] { lost.release(); })
                                  .value());
    const auto put = [&](const std::string& name) {
        Made made;
        made.path = folder / name;
        made.opened = Descriptor(::open(made.path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
        if (in_directory) {
            auto directory = std::make_shared<TargetDirectories::Directory>();
            directory->opened =
                Descriptor(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
            made.directory = directory;
            made.leaf = name;
        }
        finisher->put(std::move(made));
    };
    for (const char* name : {"a", "b"}) {
        put(name);
        CHECK(lost.try_acquire_for(std::chrono::seconds(20)));
    }
    no_memory = false;
    put("c");
    CHECK(done.try_acquire_for(std::chrono::seconds(20)));
}
