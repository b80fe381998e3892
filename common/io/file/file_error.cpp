#include "common/io/file/file_error.h"

namespace lambda::io {

Error file_error(const std::string& what, const std::string& path, int error_number) {
    return errno_error(Fault::file, what, path, error_number);
}

}  // namespace lambda::io
