#include "client/receipt/receipt_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "client/home/home.h"
#include "common/io/cipher/random.h"
#include "common/io/file/partial_name.h"

namespace lambda::client {
namespace {

constexpr mode_t kMode = 0644;  // it is there to be shown

Result<void> flush_directory_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const io::Descriptor directory(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0)
        return errno_error(Fault::file, "cannot flush the directory of the receipt", path, errno);
    return {};
}

// Called as partial files are: no walk of the tree that the receipt lies in takes it.
std::string temporary_beside(const std::string& path) {
    std::string unlike(16, '\0');
    io::fill_random(std::as_writable_bytes(std::span(unlike)));
    return std::filesystem::path(path).replace_filename(io::partial_name(unlike)).string();
}

}  // namespace

ReceiptFile::ReceiptFile(std::string path, std::string temporary, io::Descriptor file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

Result<std::unique_ptr<ReceiptFile>> ReceiptFile::begin(const std::string& path) {
    const OutputPlace place = output_place(path);
    if (!place.replaced) {
        auto file = open_output(path);
        if (!file) return file.error();
        return std::unique_ptr<ReceiptFile>(new ReceiptFile(path, {}, *std::move(file)));
    }
    const std::string temporary = temporary_beside(place.path);
    io::Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || ::fchmod(file.get(), kMode) != 0)
        return errno_error(Fault::file, "cannot write the receipt", path, errno);
    return std::unique_ptr<ReceiptFile>(new ReceiptFile(place.path, temporary, std::move(file)));
}

ReceiptFile::~ReceiptFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ReceiptFile::take(std::string_view lines) {
    while (!lines.empty() && !error_) {
        const ssize_t written = ::write(file_.get(), lines.data(), lines.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            error_ = errno_error(Fault::file, "cannot write the receipt", path_, errno);
            return;
        }
        lines.remove_prefix(static_cast<std::size_t>(written));
    }
}

Result<void> ReceiptFile::finish() {
    if (error_) return *error_;
    if (temporary_.empty()) return {};
    if (::fsync(file_.get()) != 0)
        return errno_error(Fault::file, "cannot flush the receipt", path_, errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        return errno_error(Fault::file, "cannot give the receipt its name", path_, errno);
    temporary_.clear();
    return flush_directory_of(path_);
}

}  // namespace lambda::client
