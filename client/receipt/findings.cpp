#include "client/receipt/findings.h"

#include "common/base/hex.h"

namespace lambda::client {
namespace {

std::string digits_of(const receipt::FileLine& line, verify::Algorithm algorithm) {
    return algorithm == verify::Algorithm::sha256_tree ? to_hex(*line.sha256) : to_hex(*line.xxh3);
}

}  // namespace

std::optional<verify::Algorithm> algorithm_of(const receipt::FileLine& line) {
    if (line.sha256) return verify::Algorithm::sha256_tree;
    if (line.xxh3) return verify::Algorithm::xxh3_128;
    return std::nullopt;
}

void Findings::missing(const std::string& path, Side side) {
    ++missing_;
    report_.error(Error{
        .fault = Fault::file, .message = "is missing", .path = path, .side = side, .remedy = {}});
}

void Findings::unread(const Error& error) {
    ++unread_;
    report_.error(error);
}

void Findings::differs(const std::string& path, Side side, std::string message) {
    ++different_;
    report_.error(Error{.fault = Fault::integrity,
                        .message = std::move(message),
                        .path = path,
                        .side = side,
                        .remedy = {}});
}

bool Findings::has_size(const receipt::FileLine& line, const std::string& path, Side side,
                        bool regular, std::uint64_t bytes) {
    if (regular && bytes == line.size) return true;
    differs(path, side,
            regular ? "has " + std::to_string(bytes) + " bytes, and " + std::to_string(line.size) +
                          " by the receipt"
                    : std::string("is no regular file, and is one by the receipt"));
    return false;
}

void Findings::has_digest(const receipt::FileLine& line, const std::string& path, Side side,
                          verify::Algorithm algorithm, const std::string& digits) {
    if (digits == digits_of(line, algorithm)) {
        ++good_;
        return;
    }
    differs(path, side,
            std::string("has another content than by the receipt: its ") +
                verify::to_string(algorithm) + " differs");
}

void Findings::stop(const Error& error) {
    stopped_ = true;
    report_.error(error);
}

void Findings::stop_here(const Error& error) {
    stopped_ = true;
    report_.error_here(error);
}

void Findings::tell(const receipt::Statement& statement) {
    std::string text = std::to_string(good_) + " of " + std::to_string(statement.tally.files) +
                       (statement.tally.files == 1 ? " file is" : " files are") +
                       " as by the receipt";
    if (of_size_alone_ > 0)
        text += "; of " + std::to_string(of_size_alone_) +
                " more the size is, and the receipt has no digest";
    text += "; " + std::to_string(missing_) + " missing, " + std::to_string(different_) +
            " different, " + std::to_string(unread_) + " could not be read";
    if (stopped_) text += "; not all were looked at";
    report_.data(JsonObject()
                     .text("event", "audit")
                     .number("files", statement.tally.files)
                     .number("good", good_)
                     .number("of_size_alone", of_size_alone_)
                     .number("missing", missing_)
                     .number("different", different_)
                     .number("unread", unread_)
                     .text("key", statement.key)
                     .text("signer", to_string(signer_)),
                 text);
}

}  // namespace lambda::client
