#include "common/receipt/lines.h"

#include "common/base/hex.h"
#include "common/base/json.h"
#include "common/receipt/base64.h"
#include "common/session/facts.h"
#include "common/session/timestamp.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"

namespace lambda::receipt {
namespace {

constexpr const char* kStatement = "transferred";
constexpr const char* kXxh3 = "xxh3-128";
constexpr const char* kSha256 = "sha256-tree-1MiB";

std::optional<std::int64_t> parse_time(std::string_view text) {
    std::string digits;
    for (const char c : text) {
        if (std::string_view("-T:Z").find(c) == std::string_view::npos) digits += c;
    }
    return session::parse_timestamp(digits);
}

// Takes the fields of a line by their names; what is missing or of another kind is remembered. That
// nothing else stands there shows when the line is written again.
class Fields {
  public:
    explicit Fields(const std::vector<JsonField>& fields) : fields_(fields) {}

    bool has(std::string_view name) const { return find(name) != nullptr; }
    bool good() const { return good_; }

    std::string text(std::string_view name) {
        const JsonField* field = required(name, JsonField::Kind::text);
        return field != nullptr ? field->value : std::string();
    }
    std::uint64_t number(std::string_view name) {
        const JsonField* field = required(name, JsonField::Kind::number);
        return field != nullptr ? take(session::parse_number(field->value)) : 0;
    }
    bool yes(std::string_view name) {
        return has(name) && required(name, JsonField::Kind::yes) != nullptr;
    }
    std::int64_t time(std::string_view name) { return take(parse_time(text(name))); }
    template <typename D>
    D digest(std::string_view name) {
        D digest{};
        good_ = parse_hex(text(name), digest) && good_;
        return digest;
    }
    template <typename D>
    std::optional<D> digest_if_there(std::string_view name) {
        if (!has(name)) return std::nullopt;
        return digest<D>(name);
    }
    std::vector<std::byte> base64(std::string_view name) { return take(from_base64(text(name))); }

  private:
    const JsonField* find(std::string_view name) const {
        for (const JsonField& field : fields_) {
            if (field.name == name) return &field;
        }
        return nullptr;
    }
    const JsonField* required(std::string_view name, JsonField::Kind kind) {
        const JsonField* field = find(name);
        if (field != nullptr && field->kind == kind) return field;
        good_ = false;
        return nullptr;
    }
    template <typename T>
    T take(std::optional<T> value) {
        good_ = good_ && value.has_value();
        return value ? *std::move(value) : T{};
    }

    const std::vector<JsonField>& fields_;
    bool good_ = true;
};

void add_yes(JsonObject& object, const char* name, bool yes) {
    if (yes) object.raw(name, "true");
}

FileLine read_file(Fields& fields) {
    return {.path = fields.text("path"),
            .size = fields.number("size"),
            .mtime_ns = fields.time("mtime"),
            .adopted = fields.yes("adopted"),
            .xxh3 = fields.digest_if_there<transfer::Digest>(kXxh3),
            .sha256 = fields.digest_if_there<transfer::Sha256>(kSha256)};
}

Statement read_statement(Fields& fields) {
    Statement statement;
    const bool get = fields.text("direction") == "get";
    statement.direction = get ? session::Direction::get : session::Direction::put;
    statement.server = fields.text("server");
    statement.account = fields.text("account");
    (get ? statement.destination : statement.place) = fields.text(get ? "destination" : "place");
    statement.into_directory = fields.text("into") == "directory";
    statement.transfer = fields.number("transfer");
    statement.tally.files = fields.number("files");
    statement.tally.adopted = fields.number("adopted");
    statement.tally.bytes = fields.number("bytes");
    statement.tally.lines = fields.digest<transfer::Sha256>("sha256_of_lines");
    statement.time_ns = fields.time("time");
    statement.key = fields.text("key");
    return statement;
}

template <typename T>
std::optional<Line> if_exact(const T& value, bool good, std::string_view line) {
    if (!good || to_line(value) != line) return std::nullopt;
    return value;
}

}  // namespace

std::string to_line(const FileLine& line) {
    JsonObject object;
    object.text("path", line.path)
        .number("size", line.size)
        .text("mtime", session::format_rfc3339(line.mtime_ns));
    add_yes(object, "adopted", line.adopted);
    if (line.xxh3) object.text(kXxh3, to_hex(*line.xxh3));
    if (line.sha256) object.text(kSha256, to_hex(*line.sha256));
    return object.line();
}

std::string to_line(const WantedLine& line) {
    JsonObject object;
    object.text("wanted", line.path);
    add_yes(object, "contents", line.contents);
    add_yes(object, "pattern", line.pattern);
    return object.line();
}

std::string to_line(const Statement& statement) {
    const bool get = statement.direction == session::Direction::get;
    return JsonObject()
        .text("statement", kStatement)
        .text("direction", session::to_string(statement.direction))
        .text("server", statement.server)
        .text("account", statement.account)
        .text(get ? "destination" : "place", get ? statement.destination : statement.place)
        .text("into", statement.into_directory ? "directory" : "file")
        .number("transfer", statement.transfer)
        .number("files", statement.tally.files)
        .number("adopted", statement.tally.adopted)
        .number("bytes", statement.tally.bytes)
        .text("sha256_of_lines", to_hex(statement.tally.lines))
        .text("time", session::format_rfc3339(statement.time_ns))
        .text("key", statement.key)
        .line();
}

std::string to_line(const Seal& seal) {
    return JsonObject()
        .text("signature", to_base64(seal.signature))
        .text("public_key", to_base64(seal.public_key))
        .line();
}

std::optional<Line> parse_line(std::string_view line) {
    if (line.size() > kMostLineBytes) return std::nullopt;
    const auto parsed = parse_json_line(line);
    if (!parsed) return std::nullopt;
    Fields fields(*parsed);
    if (fields.has("path")) {
        const FileLine file = read_file(fields);
        return if_exact(file, fields.good() && transfer::acceptable_name(file.path), line);
    }
    if (fields.has("wanted")) {
        const WantedLine wanted{.path = fields.text("wanted"),
                                .contents = fields.yes("contents"),
                                .pattern = fields.yes("pattern")};
        return if_exact(wanted, fields.good(), line);
    }
    if (fields.has("statement")) {
        const Statement statement = read_statement(fields);
        return if_exact(statement, fields.good(), line);
    }
    const Seal seal{.signature = fields.base64("signature"),
                    .public_key = fields.base64("public_key")};
    return if_exact(seal, fields.good(), line);
}

std::string signed_text(std::string_view statement_line) {
    return "lambda-ftp receipt 1: " + std::string(statement_line) + "\n";
}

}  // namespace lambda::receipt
