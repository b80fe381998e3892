#include "tools/lab/path_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "config/yaml_document.h"
#include "tools/lab/path_values.h"

namespace lambda::lab {
namespace {

// A Wrong with its place; caught at the edges of this file.
struct Refusal {
    Error error;
};

// A map of the file, whose keys are all taken or refused.
class Map {
  public:
    Map(const YAML::Node& node, const std::string& file, const std::string& name)
        : file_(file), name_(name), line_(node.Mark().line + 1) {
        if (!node.IsMap()) refuse(line_, name, "expected lines of 'key: value'");
        for (const auto& entry : node) {
            const int line = entry.first.Mark().line + 1;
            if (!entry.first.IsScalar()) refuse(line, name, "a key is no word");
            const std::string key = entry.first.Scalar();
            if (!entries_.try_emplace(key, Entry{line, entry.second}).second) {
                refuse(line, key, "stands twice");
            }
        }
    }

    using ReadText = std::function<void(const std::string&)>;
    using ReadNode = std::function<void(const YAML::Node&)>;

    // Each gives whether the key is there.
    bool text(const std::string& key, const ReadText& read) {
        return node(key, [&](const YAML::Node& node) { read(scalar(node)); });
    }
    bool node(const std::string& key, const ReadNode& read) {
        known_.insert(key);
        const auto found = entries_.find(key);
        if (found == entries_.end()) return false;
        try {
            read(found->second.node);
        } catch (const Wrong& wrong) {
            refuse(found->second.line, key, wrong.what);
        }
        return true;
    }
    void need(const std::string& key, const ReadText& read) {
        if (!text(key, read)) refuse(line_, name_, "'" + key + "' is missing");
    }
    // Every key but these.
    void each(const std::function<void(const std::string& key, const std::string& value)>& read) {
        for (const auto& [key, entry] : entries_) {
            text(key, [&, &key = key](const std::string& value) { read(key, value); });
        }
    }
    void finish() const {
        for (const auto& [key, entry] : entries_) {
            if (known_.contains(key)) continue;
            std::string names;
            for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
            refuse(entry.line, key, "unknown key; allowed: " + names);
        }
    }
    bool has(const std::string& key) const { return entries_.contains(key); }
    [[noreturn]] void refuse_key(const std::string& key, const std::string& what) const {
        const auto found = entries_.find(key);
        refuse(found == entries_.end() ? line_ : found->second.line, key, what);
    }

    static std::string scalar(const YAML::Node& node) {
        if (!node.IsScalar()) throw Wrong{node.IsNull() ? "has no value" : "expected one value"};
        return node.Scalar();
    }

  private:
    struct Entry {
        int line;
        YAML::Node node;
    };
    [[noreturn]] void refuse(int line, const std::string& key, const std::string& what) const {
        throw Refusal{config::setting_error(file_, line, key, what)};
    }

    const std::string& file_;
    std::string name_;
    int line_;
    std::map<std::string, Entry> entries_;
    std::set<std::string> known_;
};

class PathReader {
  public:
    explicit PathReader(const std::string& file) : file_(file) {}

    PathSpec read(const YAML::Node& document) {
        if (!document.IsMap()) {
            throw Refusal{config::setting_error(file_, 1, "", "expected bottleneck and hosts")};
        }
        Map top(document, file_, "");
        PathSpec path;
        if (!top.node("bottleneck", [&](const YAML::Node& node) { bottleneck(node, path); })) {
            top.refuse_key("bottleneck", "is missing");
        }
        if (!top.node("hosts", [&](const YAML::Node& node) { hosts(node, path); })) {
            top.refuse_key("hosts", "is missing");
        }
        top.node("timetable", [&](const YAML::Node& node) { timetable(node, path); });
        top.finish();
        try {
            resolve_queues(path);
        } catch (const Wrong& wrong) {
            top.refuse_key("bottleneck", wrong.what);
        }
        return path;
    }

  private:
    void bottleneck(const YAML::Node& node, PathSpec& path) {
        Map map(node, file_, "bottleneck");
        if (!map.has("rate")) map.refuse_key("bottleneck", "'rate' is missing");
        link(map, path.forward);
        path.backward = path.forward;
        map.node("backward", [&](const YAML::Node& other) {
            Map back(other, file_, "backward");
            link(back, path.backward);
            back.finish();
        });
        map.finish();
    }

    void link(Map& map, LinkSpec& link) {
        Impairments& now = link.impairments;
        map.text("rate", [&](const std::string& text) { now.rate = to_rate(text); });
        map.text("delay", [&](const std::string& text) { now.delay = to_delay(text); });
        map.text("jitter", [&](const std::string& text) { now.jitter = to_delay(text); });
        map.text("duplicate", [&](const std::string& text) { now.duplicate = to_share(text); });
        map.node("loss", [&](const YAML::Node& node) { now.loss = loss(node); });
        map.node("reorder", [&](const YAML::Node& node) { now.reorder = reorder(node); });
        map.text("queue", [&](const std::string& text) { to_queue(text, link); });
        map.text("mtu", [&](const std::string& text) { link.mtu = to_mtu(text); });
    }

    Loss loss(const YAML::Node& node) {
        Loss loss;
        if (node.IsMap()) {
            Map map(node, file_, "loss");
            map.need("rate", [&](const std::string& text) { loss.rate = to_share(text); });
            map.text("burst", [&](const std::string& text) { loss.burst = to_burst(text); });
            map.finish();
        } else {
            loss.rate = to_share(Map::scalar(node));
        }
        check_loss(loss);
        return loss;
    }

    Reorder reorder(const YAML::Node& node) {
        Reorder reorder;
        if (!node.IsMap()) {
            reorder.rate = to_share(Map::scalar(node));
            return reorder;
        }
        Map map(node, file_, "reorder");
        map.need("rate", [&](const std::string& text) { reorder.rate = to_share(text); });
        map.text("by", [&](const std::string& text) { reorder.by = to_delay(text); });
        map.finish();
        return reorder;
    }

    void hosts(const YAML::Node& node, PathSpec& path) {
        if (!node.IsSequence()) throw Wrong{"expected a list of hosts"};
        std::set<std::string> names;
        for (const YAML::Node& one : node) {
            path.hosts.push_back(host(one));
            if (!names.insert(path.hosts.back().name).second) {
                throw Wrong{"two hosts are called " + path.hosts.back().name};
            }
        }
        if (path.hosts.size() > kMostHosts) throw Wrong{"more than 16 hosts"};
        for (const End end : {End::left, End::right}) {
            const bool some = std::any_of(path.hosts.begin(), path.hosts.end(),
                                          [&](const HostSpec& host) { return host.end == end; });
            if (!some) throw Wrong{"each side needs a host: left and right"};
        }
    }

    HostSpec host(const YAML::Node& node) {
        HostSpec host;
        Map map(node, file_, "hosts");
        map.need("name", [&](const std::string& text) { host.name = to_name(text); });
        map.need("side", [&](const std::string& text) {
            if (text != "left" && text != "right") throw Wrong{"one of left, right"};
            host.end = text == "left" ? End::left : End::right;
        });
        map.text("delay", [&](const std::string& text) { host.delay = to_delay(text); });
        map.text("mtu", [&](const std::string& text) { host.mtu = to_mtu(text); });
        map.text("congestion",
                 [&](const std::string& text) { host.congestion = to_congestion(text); });
        map.node("sysctl", [&](const YAML::Node& settings) {
            Map(settings, file_, "sysctl").each([&](const std::string& key, const std::string& v) {
                host.sysctls.emplace_back(sysctl_name(key), v);
            });
        });
        map.finish();
        return host;
    }

    // Without "net.".
    static std::string sysctl_name(const std::string& text) {
        const bool good =
            text.starts_with("net.") && text.size() > 4 && text[4] != '.' &&
            text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos &&
            text.find("..") == std::string::npos;
        if (!good) throw Wrong{"no setting of the network; allowed: net. and what follows"};
        return text.substr(4);
    }

    void timetable(const YAML::Node& node, PathSpec& path) {
        if (!node.IsSequence()) throw Wrong{"expected a list of changes"};
        for (const YAML::Node& one : node) path.timetable.push_back(change(one));
        std::stable_sort(path.timetable.begin(), path.timetable.end(),
                         [](const Change& a, const Change& b) { return a.at < b.at; });
    }

    Change change(const YAML::Node& node) {
        Change change;
        Map map(node, file_, "timetable");
        map.need("at", [&](const std::string& text) { change.at = to_time(text); });
        map.text("direction", [&](const std::string& text) {
            if (text != "both" && text != "forward" && text != "backward") {
                throw Wrong{"one of both, forward, backward"};
            }
            change.forward = text != "backward";
            change.backward = text != "forward";
        });
        bool any = map.text("rate", [&](const std::string& text) { change.rate = to_rate(text); });
        any |= map.text("delay", [&](const std::string& text) { change.delay = to_delay(text); });
        any |= map.text("jitter", [&](const std::string& text) { change.jitter = to_delay(text); });
        any |= map.text("duplicate",
                        [&](const std::string& text) { change.duplicate = to_share(text); });
        any |= map.node("loss", [&](const YAML::Node& value) { change.loss = loss(value); });
        any |=
            map.node("reorder", [&](const YAML::Node& value) { change.reorder = reorder(value); });
        any |= map.text("dead", [&](const std::string& text) {
            change.dead = to_time(text);
            if (change.dead == Duration{0}) throw Wrong{"no time at all"};
        });
        map.finish();
        if (!any) map.refuse_key("at", "nothing changes then");
        return change;
    }

    const std::string& file_;
};

}  // namespace

Result<PathSpec> parse_path(std::string_view text, const std::string& file) {
    if (text.size() > config::kMaxDocumentBytes) {
        return config::setting_error(file, 1, "", "the file is too large; allowed: 64KiB");
    }
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
        if (documents.size() > 1)
            return config::setting_error(file, documents[1].Mark().line + 1, "",
                                         "a path is one document");
        return PathReader(file).read(documents.empty() ? YAML::Node() : documents.front());
    } catch (const Refusal& refusal) {
        return refusal.error;
    } catch (const YAML::Exception& problem) {
        return config::setting_error(file, problem.mark.is_null() ? 1 : problem.mark.line + 1, "",
                                     "not YAML: " + problem.msg);
    } catch (const std::exception& problem) {
        return config::setting_error(file, 1, "", std::string("not YAML: ") + problem.what());
    }
}

Result<PathSpec> load_path(const std::string& file) {
    const auto text = config::read_document(file, "the path");
    if (!text) return text.error();
    return parse_path(*text, file);
}

}  // namespace lambda::lab
