// A source that the page cache holds is read there, another one past it.
#include "common/io/file/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iostream>

#include "common/io/file/open_file.h"
#include "common/io/file/source_names.h"
#include "tests/support/catch.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

constexpr std::size_t kSize = 4 << 20;

// A file whose first bytes stay in the page cache for as long as this lives, and no others do.
class Held {
  public:
    explicit Held(std::size_t bytes) {
        write_file(folder_ / "file", random_text(kSize, 7));
        file_ = Descriptor(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
        REQUIRE(::fsync(file_.get()) == 0);
        REQUIRE(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
        if (bytes == 0) return;
        memory_ = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file_.get(), 0);
        REQUIRE(memory_ != MAP_FAILED);
        bytes_ = bytes;
        REQUIRE(::madvise(memory_, bytes_, MADV_RANDOM) == 0);  // nothing read ahead
        REQUIRE(::mlock(memory_, bytes_) == 0);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
        if (bytes_ > 0) ::munmap(memory_, bytes_);
    }
    std::string path() const { return folder_ / "file"; }
    int file() const { return file_.get(); }
    bool read_directly() const {
        const Root root = Root::machine();
        const auto opened = open_source(SourceNames(root), {.path = path()}, 65536);
        REQUIRE(opened);
        return static_cast<bool>(opened->file->direct);
    }

  private:
    Folder folder_;
    Descriptor file_;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace

TEST_CASE("page cache: a source is read from it where it is there, else past it") {
    const Held all(kSize), half(kSize / 2), none(0);
    if (!none.read_directly() || !mostly_cached(half.file(), {0, kSize / 2})) {
        std::cerr << "sources in the page cache: SKIPPED: no direct I/O here, or the kernel does "
                     "not say\n";
        return;
    }
    CHECK_FALSE(all.read_directly());
    CHECK(half.read_directly());
    CHECK(mostly_cached(all.file(), {kSize / 2, kSize}));
    CHECK_FALSE(mostly_cached(half.file(), {kSize / 2, kSize}));
    CHECK_FALSE(mostly_cached(none.file(), {0, kSize}));
    CHECK_FALSE(mostly_cached(all.file(), {0, 0}));
    CHECK_FALSE(mostly_cached(-1, {0, kSize}));
}
