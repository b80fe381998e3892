// What ls shows: patterns as a server's names have them, and the order.
#include <map>

#include "client/remote/remote_pattern.h"
#include "client/report/entry_lines.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;
using session::Entry;
using session::EntryType;

namespace {

Entry entry(std::string name, EntryType type = EntryType::file) {
    Entry made;
    made.type = type;
    made.name = std::move(name);
    return made;
}

Error failure_at(const std::string& path) {
    Error error;
    error.path = path;
    return error;
}

// Directories by name, with what they hold; of one that is closed nothing is shown.
class Tree final : public RemoteNames {
  public:
    explicit Tree(std::map<std::string, std::vector<Entry>> directories)
        : directories_(std::move(directories)) {}

    Result<void> list(const std::vector<std::string>& directories, const Take& take,
                      const Unread& unread) override {
        for (const std::string& directory : directories) {
            if (directory.ends_with("closed")) unread(failure_at(directory));
            const auto at = directories_.find(directory);
            if (at == directories_.end()) continue;
            for (const Entry& each : at->second) take(directory, each);
        }
        return {};
    }
    Result<std::vector<std::optional<Entry>>> look(const std::vector<std::string>& paths) override {
        std::vector<std::optional<Entry>> found;
        for (const std::string& path : paths) {
            const std::size_t slash = path.rfind('/');
            const auto at = directories_.find(slash == path.npos ? "" : path.substr(0, slash));
            found.emplace_back();
            if (at == directories_.end()) continue;
            for (const Entry& each : at->second)
                if (each.name == path.substr(slash + 1)) found.back() = each;
        }
        return found;
    }

  private:
    std::map<std::string, std::vector<Entry>> directories_;
};

void ignore(const Error&) {}

const Tree& tree() {
    static const Tree made({
        {"", {entry("runs", EntryType::directory), entry("a.txt"), entry(".hidden"), entry("a")}},
        {"some",
         {entry("closed", EntryType::directory), entry("not_closed", EntryType::directory),
          entry("open", EntryType::directory)}},
        {"some/open", {entry("x")}},
        {"/", {entry("runs", EntryType::directory), entry("a.txt")}},
        {"runs",
         {entry("2025", EntryType::directory), entry("2026", EntryType::link), entry("2027")}},
        {"runs/2025", {entry("x.h5"), entry("y.h5"), entry("z")}},
        {"runs/2026", {entry("x.h5", EntryType::link)}},
    });
    return made;
}

std::vector<std::string> matches(const std::string& pattern) {
    Tree names = tree();
    const auto found = expand_pattern(pattern, names, ignore);
    std::vector<std::string> list;
    if (!found) {
        CHECK(found.error().fault == Fault::file);
        CHECK(found.error().path == "/" + std::string(pattern));
        return list;
    }
    for (const Entry& each : *found) list.push_back(each.name);
    return list;
}

using Names = std::vector<std::string>;

TEST_CASE("directories that a pattern leads into and nobody may read are told") {
    Tree names = tree();
    Names unread;
    const auto hear = [&](const Error& error) { unread.push_back(error.path); };
    const auto found = expand_pattern("some/*/*", names, hear);
    REQUIRE(found.ok());
    CHECK(found->size() == 1);
    CHECK(unread == Names{"some/closed", "some/not_closed"});
    unread.clear();
    const auto none = expand_pattern("some/*d/*", names, hear);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().path == "some/not_closed");
    CHECK(unread == Names{"some/closed"});
}

}  // namespace

TEST_CASE("a pattern means what stands at the server") {
    CHECK(matches("*.txt") == Names{"a.txt"});
    CHECK(matches("/a*") == Names{"/a.txt"});
    CHECK(matches("a*") == Names{"a.txt", "a"});
    CHECK(matches(".*") == Names{".hidden"});
    CHECK(matches("*") == Names{"runs", "a.txt", "a"});
    CHECK(matches("runs/202[56]") == Names{"runs/2025", "runs/2026"});
    CHECK(matches("runs//20?5/*.h5") == Names{"runs/2025/x.h5", "runs/2025/y.h5"});
    CHECK(matches("ru*/*/*.h5") == Names{"runs/2025/x.h5", "runs/2025/y.h5", "runs/2026/x.h5"});
    CHECK(matches("runs/*/x.h5") == Names{"runs/2025/x.h5", "runs/2026/x.h5"});
    // Behind a component with wildcards, another without.
    CHECK(matches("*/2025/z") == Names{"runs/2025/z"});
}

TEST_CASE("a pattern that means nothing, or too much, fails") {
    for (const char* pattern : {"*.none", "none/*", "runs/*/none", "a.txt/*", "[", "*/*/*/*"}) {
        CAPTURE(pattern);
        CHECK(matches(pattern).empty());
    }
    Tree names = tree();
    CHECK(expand_pattern("runs/*", names, ignore, 3).ok());
    const auto found = expand_pattern("runs/*", names, ignore, 2);
    REQUIRE(!found.ok());
    CHECK(found.error().fault == Fault::file);
    CHECK_THAT(found.error().message, Catch::Contains("more than 2"));
}

TEST_CASE("entries are shown by name, up to a bound") {
    Names shown;
    EntriesByName entries([&](const Entry& each) { shown.push_back(each.name); }, 3);
    for (const char* name : {"b", "B", "\xff"}) entries.take(entry(name));
    CHECK(shown.empty());
    entries.end();
    CHECK(shown == Names{"B", "b", "\xff"});
    CHECK(entries.sorted());
    shown.clear();
    for (const char* name : {"c", "b", "a", "2", "1"}) entries.take(entry(name));
    CHECK(shown == Names{"a", "b", "c", "2", "1"});
    entries.end();
    CHECK(shown.size() == 5);
    CHECK(!entries.sorted());
    CHECK(entries.kept() == 3);
}

TEST_CASE("entries of long names are kept up to a bound of their bytes") {
    std::size_t shown = 0;
    EntriesByName entries([&](const Entry&) { ++shown; });
    const std::size_t kept = EntriesByName::kMostNameBytes / 4096;
    for (std::size_t i = 0; i < kept; ++i) entries.take(entry(std::string(4096, 'a')));
    CHECK(shown == 0);
    entries.take(entry("b"));
    CHECK(shown == kept + 1);
    CHECK(entries.kept() == kept);
}
