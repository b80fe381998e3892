#include "common/io/file/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/base/hex.h"
#include "common/io/cipher/random.h"
#include "common/io/file/file_error.h"
#include "common/io/file/flush.h"
#include "common/io/file/root.h"
#include "common/io/file/write_all.h"

namespace lambda::io {
namespace {

std::string name_beside(const std::string& path) {
    std::array<std::byte, 4> drawn{};
    fill_random(drawn);
    return path + "." + to_hex(drawn);
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Result<void> replace_file(const std::string& path, ByteView content, mode_t mode,
                          const std::function<Result<void>(int file)>& prepare) {
    const std::string fresh = name_beside(path);
    const Descriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file) return file_error("cannot write", path, errno);
    auto written = prepare ? prepare(file.get()) : Result<void>();
    if (written) written = write_all(file.get(), content, path);
    if (written && ::fsync(file.get()) != 0) written = file_error("cannot write", path, errno);
    if (written && ::rename(fresh.c_str(), path.c_str()) != 0)
        written = file_error("cannot replace", path, errno);
    if (!written) {
        ::unlink(fresh.c_str());
        return written;
    }
    const Descriptor directory(
        ::open(directory_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory || sync_directory(directory.get(), file.get()) != 0)
        return file_error("cannot flush its directory", path, errno);
    return {};
}

}  // namespace lambda::io
