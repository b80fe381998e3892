#include "config/documentation.h"

#include <sstream>

#include "config/client_settings.h"
#include "config/schema.h"
#include "config/server_settings.h"

namespace lambda::config {
namespace {

constexpr std::size_t kLineWidth = 100;

constexpr const char* kMarkdownHead =
    "# Settings\n"
    "Server and client read one YAML file each: one flat map of the keys below. Every key may be\n"
    "left out; it then has its default. This page and the shipped files `config/server.yaml` and\n"
    "`config/client.yaml` are made from the table that checks the files\n"
    "(`config/server_settings.cpp`, `config/client_settings.cpp`), by `settings_text`.\n"
    "\n"
    "Sizes take B, kB, MB, GB, TB (decimal) and KiB, MiB, GiB, TiB (binary); a bare number is "
    "bytes.\n"
    "Rates take bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, MB/s, GB/s, TB/s; a bare number is bits a "
    "second.\n"
    "Durations take ns, us, ms, s, min, h and always need one of them.\n"
    "\n"
    "What is wrong with a file is said with its place: `FILE:LINE: KEY: what is wrong`, and "
    "behind\n"
    "a value that cannot be, what is `allowed`.\n"
    "Refused are unknown keys (the nearest known one is named), keys that stand twice, values of "
    "a\n"
    "wrong type or unit or out of range, and of YAML itself: anchors, tags, nested maps, a second\n"
    "document, and more than 64 KiB.\n";

constexpr const char* kServerHead =
    "# Settings of lambda-ftpd: every key with its default, but root, whose default is \"\". A key "
    "that\n"
    "# is left out has its default.\n"
    "# Units: 64MiB, 5GB; 800Mbit/s, 2Gbit/s; 10ms, 60s, 15min. `lambda-ftpd check-config` "
    "checks.\n";

// What config/lambda-ftpd.service lets the server write to.
constexpr const char* kShippedRoot = "/srv/lambda-ftp";

constexpr const char* kClientHead =
    "# Settings of lambda-ftp: every key with its default. A key that is left out has that value;\n"
    "# options of the command line come before both. Place: ~/.config/lambda-ftp/client.yaml\n"
    "# Units: 64MiB, 5GB; 800Mbit/s, 2Gbit/s; 10ms, 1s.\n";

std::string markdown_table(const Schema& schema) {
    std::string text = "\n| key | default | allowed | meaning |\n|---|---|---|---|\n";
    for (const Key& key : schema.keys()) {
        text += "| `" + key.name + "` | `" + key.default_value + "` | " + key.allowed + " | " +
                key.documentation + " |\n";
    }
    return text;
}

// `text` as comment lines of at most kLineWidth.
std::string comment(const std::string& text) {
    std::string result;
    std::string line = "#";
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (line.size() + 1 + word.size() > kLineWidth) {
            result += line + "\n";
            line = "#";
        }
        line += " " + word;
    }
    return result + line + "\n";
}

std::string yaml(const char* head, const Schema& schema) {
    std::string text = head;
    for (const Key& key : schema.keys()) {
        text += "\n" + comment(key.documentation) + comment("Allowed: " + key.allowed + ".") +
                key.name + ": " + key.default_value + "\n";
    }
    return text;
}

}  // namespace

std::string settings_markdown() {
    ServerSettings server;
    ClientSettings client;
    return std::string(kMarkdownHead) +
           "\n## Server\n`lambda-ftpd --config FILE`; `lambda-ftpd check-config --config FILE` "
           "checks a "
           "file.\n" +
           markdown_table(server_schema(server)) +
           "\n## Client\n`~/.config/lambda-ftp/client.yaml`. Options of the command line come "
           "before "
           "it.\n" +
           markdown_table(client_schema(client));
}

std::string server_yaml() {
    ServerSettings settings;
    settings.root = kShippedRoot;
    return yaml(kServerHead, server_schema(settings));
}

std::string client_yaml() {
    ClientSettings settings;
    return yaml(kClientHead, client_schema(settings));
}

}  // namespace lambda::config
