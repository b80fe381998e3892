#include "config/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>

namespace lambda::config {
namespace {

// What the handler throws at yaml-cpp to stop it; caught in parse_document().
struct Refusal {
    int line = 0;
    std::string key;
    std::string what;
};

int line_of(const YAML::Mark& mark) {
    return mark.line + 1;
}

// Takes yaml-cpp's events apart without ever building a tree.
class FlatMapHandler final : public YAML::EventHandler {
  public:
    std::vector<Entry> entries;

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ > 0) refuse(mark, "a second document begins here; allowed: one");
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_anchor(mark, anchor);
        if (place_ == Place::start) return;  // an empty document
        if (place_ == Place::key) refuse(mark, "a key is missing");
        if (place_ == Place::list) refuse(mark, "an item of the list is empty");
        place_ = Place::key;
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, kNoAnchors); }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        switch (place_) {
            case Place::start:
                refuse(mark, kNotAMap);
            case Place::key:
                entries.push_back(
                    {.key = value, .line = line_of(mark), .is_list = false, .items = {}});
                place_ = Place::value;
                break;
            case Place::value:
                entries.back().items.push_back(value);
                place_ = Place::key;
                break;
            case Place::list:
                entries.back().items.push_back(value);
                break;
        }
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        if (place_ == Place::start) refuse(mark, kNotAMap);
        if (place_ != Place::value) refuse(mark, "a list cannot stand here");
        entries.back().is_list = true;
        place_ = Place::list;
    }
    void OnSequenceEnd() override { place_ = Place::key; }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        if (place_ != Place::start) refuse(mark, "a map cannot stand here");
        place_ = Place::key;
    }
    void OnMapEnd() override {}

  private:
    enum class Place { start, key, value, list };
    static constexpr const char* kNoAnchors = "anchors and aliases are not allowed";
    static constexpr const char* kNotAMap = "expected lines of 'key: value'";

    [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
        const bool inside = place_ == Place::value || place_ == Place::list;
        throw Refusal{line_of(mark), inside ? entries.back().key : "", what};
    }
    void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
        if (anchor != 0) refuse(mark, kNoAnchors);
    }
    // "?" and "!": there is none, or of quotes.
    void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
        if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags are not allowed");
    }

    Place place_ = Place::start;
    int documents_ = 0;
};

}  // namespace

Error setting_error(const std::string& file, int line, const std::string& key,
                    const std::string& what) {
    std::string message = file + ":" + std::to_string(line) + ": ";
    if (!key.empty()) message += key + ": ";
    return Error{.fault = Fault::usage,
                 .message = message + what,
                 .path = {},
                 .side = Side::local,
                 .remedy = {}};
}

Result<std::vector<Entry>> parse_document(std::string_view text, const std::string& file) {
    if (text.size() > kMaxDocumentBytes) {
        return setting_error(file, 1, "", "the file is too large; allowed: 64KiB");
    }
    if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
        int line = 1;
        for (const char c : text.substr(0, nul)) line += c == '\n' ? 1 : 0;
        return setting_error(file, line, "", "a NUL byte; allowed: UTF-8 text");
    }
    FlatMapHandler handler;
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(handler)) {
        }
    } catch (const Refusal& refusal) {
        return setting_error(file, refusal.line, refusal.key, refusal.what);
    } catch (const YAML::Exception& problem) {
        return setting_error(file, problem.mark.is_null() ? 1 : line_of(problem.mark), "",
                             "not YAML: " + problem.msg);
    } catch (const std::exception& problem) {
        return setting_error(file, 1, "", std::string("not YAML: ") + problem.what());
    }
    return std::move(handler.entries);
}

Result<std::string> read_document(const std::string& file, const char* what) {
    const std::string cannot = std::string("cannot read ") + what;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "re"),
                                                                 std::fclose);
    if (!stream) return errno_error(Fault::usage, cannot, file, errno);
    std::string text(kMaxDocumentBytes + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), stream.get()));
    if (std::ferror(stream.get()) != 0) {
        return errno_error(Fault::usage, cannot, file, errno);
    }
    return text;
}

}  // namespace lambda::config
