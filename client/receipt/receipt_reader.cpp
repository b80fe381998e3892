#include "client/receipt/receipt_reader.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "common/io/file/temporary_file.h"
#include "common/io/tls/signature.h"

namespace lambda::client {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

ByteView octets(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// Where no file can be made, a stream that has failed.
std::unique_ptr<std::iostream> temporary() {
    const io::Descriptor file = io::temporary_file();
    return std::make_unique<std::fstream>("/proc/self/fd/" + std::to_string(file.get()),
                                          std::ios::binary | std::ios::in | std::ios::out);
}

}  // namespace

ReceiptReader::ReceiptReader(std::unique_ptr<std::istream> in, std::string name)
    : in_(std::move(in)), name_(std::move(name)) {}

Result<ReceiptReader> ReceiptReader::open(const std::string& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        return errno_error(Fault::file, "cannot read", file, EISDIR);
    auto in = std::make_unique<std::ifstream>(file, std::ios::binary);
    if (!*in) return errno_error(Fault::file, "cannot open", file, errno);
    return open(std::move(in), file);
}

Result<ReceiptReader> ReceiptReader::open(std::unique_ptr<std::istream> in, std::string name) {
    ReceiptReader reader(std::move(in), std::move(name));
    if (!reader.in_->seekg(0)) {
        reader.in_->clear();
        reader.kept_ = temporary();
    }
    if (const auto checked = reader.check(); !checked) return checked.error();
    if (reader.kept_) {
        if (!reader.kept_->flush()) {
            Error full = reader.refused("no temporary file keeps what is read twice", Fault::file);
            full.remedy = "let TMPDIR name a directory with room for it";
            return full;
        }
        reader.in_ = std::move(reader.kept_);
    }
    // From the beginning, for next().
    reader.in_->clear();
    reader.in_->seekg(0);
    reader.ahead_.clear();
    reader.used_ = 0;
    reader.lines_ = {};
    return reader;
}

Error ReceiptReader::refused(std::string message, Fault fault) const {
    return Error{.fault = fault,
                 .message = std::move(message),
                 .path = name_,
                 .side = Side::local,
                 .remedy = {}};
}

// The next with its end; nothing where none is whole, or it is longer than any may be.
std::optional<std::string> ReceiptReader::line() {
    std::size_t end = ahead_.find('\n', used_);
    while (end == std::string::npos && ahead_.size() - used_ <= receipt::kMostLineBytes) {
        ahead_.erase(0, used_);
        used_ = 0;
        const std::size_t before = ahead_.size();
        ahead_.resize(before + kReadBytes);
        in_->read(ahead_.data() + before, kReadBytes);
        ahead_.resize(before + static_cast<std::size_t>(in_->gcount()));
        if (kept_) kept_->write(ahead_.data() + before, in_->gcount());
        end = ahead_.find('\n', before);
        if (ahead_.size() == before) return std::nullopt;
    }
    if (end == std::string::npos) return std::nullopt;
    std::string taken = ahead_.substr(used_, end + 1 - used_);
    used_ = end + 1;
    return taken;
}

Result<void> ReceiptReader::check() {
    auto at = line();
    if (in_->bad()) return refused("cannot be read", Fault::file);
    if (!at || at->substr(0, at->size() - 1) != receipt::kFirstLine) {
        const auto second = line();
        if (second && receipt::parse_line(std::string_view(second->data(), second->size() - 1)))
            return refused("the receipt was changed: its first line is none");
        return refused("is no receipt of lambda-ftp", Fault::usage);
    }
    receipt::Tally tally;
    lines_.add(octets(*at));
    std::optional<receipt::Line> parsed;
    while ((at = line())) {
        const std::string_view text(at->data(), at->size() - 1);
        parsed = receipt::parse_line(text);
        const auto* file = parsed ? std::get_if<receipt::FileLine>(&*parsed) : nullptr;
        if (file == nullptr && !(parsed && std::holds_alternative<receipt::WantedLine>(*parsed)))
            break;
        lines_.add(octets(*at));
        if (file == nullptr) continue;
        ++tally.files;
        tally.adopted += file->adopted ? 1 : 0;
        tally.bytes += file->size;
    }
    if (in_->bad()) return refused("cannot be read", Fault::file);
    if (!at) return refused("the receipt was cut short");
    const auto* statement = parsed ? std::get_if<receipt::Statement>(&*parsed) : nullptr;
    if (statement == nullptr) return refused("the receipt was changed: a line of it is none");
    statement_ = *statement;
    tally.lines = lines_.finish();
    const auto last = line();
    if (!last) return refused("the receipt was cut short: it has no signature");
    const auto sealed = receipt::parse_line(std::string_view(last->data(), last->size() - 1));
    const auto* seal = sealed ? std::get_if<receipt::Seal>(&*sealed) : nullptr;
    if (seal == nullptr || used_ < ahead_.size() || line())
        return refused("the receipt was changed: its signature is not its last line");
    const receipt::Tally& said = statement_.tally;
    if (said.lines != tally.lines || said.files != tally.files || said.adopted != tally.adopted ||
        said.bytes != tally.bytes) {
        return refused("the receipt was changed: its lines are not those that were signed");
    }
    if (io::fingerprint_of_key(seal->public_key) != statement_.key ||
        !io::verifies({.bytes = seal->signature, .public_key = seal->public_key},
                      receipt::signed_text(std::string_view(at->data(), at->size() - 1)))) {
        return refused("the receipt was changed: its signature does not hold");
    }
    return {};
}

Result<std::optional<receipt::FileLine>> ReceiptReader::next() {
    while (auto at = line()) {
        const auto parsed = receipt::parse_line(std::string_view(at->data(), at->size() - 1));
        if (parsed && std::holds_alternative<receipt::Statement>(*parsed)) {
            if (lines_.finish() != statement_.tally.lines) break;
            return std::optional<receipt::FileLine>();
        }
        lines_.add(octets(*at));
        if (parsed && std::holds_alternative<receipt::FileLine>(*parsed))
            return std::optional(std::get<receipt::FileLine>(*parsed));
    }
    return refused("the receipt changed while it was read");
}

}  // namespace lambda::client
