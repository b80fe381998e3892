#include "common/io/file/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace lambda::io {

Descriptor temporary_file() {
    const char* const where = std::getenv("TMPDIR");
    // Not every file system has O_TMPFILE.
    std::string name = std::string(where != nullptr ? where : "/tmp") + "/lambda-ftp-XXXXXX";
    Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
    return file;
}

}  // namespace lambda::io
