#include "server/accounts.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "common/io/file/small_file.h"
#include "server/password_hash.h"
#include "server/state.h"

namespace lambda::server {
namespace {

constexpr std::size_t kMaxAccounts = 100'000;
constexpr std::size_t kMaxAccountBytes = 64 << 20;

// Raised and caught within this file, as yaml-cpp's own are.
struct Malformed {
    std::string what;
    int line;  // from 0; negative: the whole
};

[[noreturn]] void refuse(const YAML::Node& node, std::string what) {
    throw Malformed{std::move(what), node.Mark().line};
}

Account read_account(const YAML::Node& node) {
    if (!node.IsMap()) refuse(node, "an account is a map of password, root and read_only");
    Account account;
    std::set<std::string> seen;
    for (const auto& item : node) {
        const auto key = item.first.as<std::string>();
        if (!seen.insert(key).second) refuse(item.first, "'" + key + "' stands twice");
        if (!item.second.IsScalar()) refuse(item.first, "'" + key + "' has no plain value");
        if (key == "password") {
            account.password = item.second.as<std::string>();
        } else if (key == "root") {
            account.root = item.second.as<std::string>();
        } else if (key == "read_only") {
            if (!YAML::convert<bool>::decode(item.second, account.read_only))
                refuse(item.second, "read_only is true or false");
        } else {
            refuse(item.first, "unknown key '" + key + "'; allowed: password, root, read_only");
        }
    }
    if (!is_password_hash(account.password)) {
        refuse(node, "the password is no scrypt hash; make one by `lambda-ftpd user add`");
    }
    if (!account.root.empty() && account.root.front() != '/') {
        refuse(node, "the root is not an absolute path");
    }
    return account;
}

Accounts read_accounts(const YAML::Node& document) {
    Accounts accounts;
    if (document.IsNull())
        refuse(document, "the file is empty; write 'accounts:' where none is meant");
    if (!document.IsMap() || document.size() != 1 || !document["accounts"]) {
        refuse(document, "the file is not a map with the one key 'accounts'");
    }
    const YAML::Node list = document["accounts"];
    if (list.IsNull()) return accounts;
    if (!list.IsMap()) refuse(list, "'accounts' is not a map of names");
    if (list.size() > kMaxAccounts) refuse(list, "too many accounts");
    for (const auto& item : list) {
        const auto name = item.first.as<std::string>();
        if (!is_account_name(name)) refuse(item.first, "'" + name + "' cannot name an account");
        if (!accounts.emplace(name, read_account(item.second)).second) {
            refuse(item.first, "account '" + name + "' stands twice");
        }
    }
    return accounts;
}

Error malformed(const std::string& file, int line, const std::string& what) {
    return Error{.fault = Fault::usage,
                 .message = what,
                 .path = line < 0 ? file : file + ":" + std::to_string(line + 1),
                 .side = Side::local,
                 .remedy = {}};
}

}  // namespace

const Account* find_account(const Accounts& accounts, const std::string& name,
                            const std::string& password) {
    const auto found = accounts.find(name);
    const bool same = found != accounts.end() && found->second.password == password;
    return same ? &found->second : nullptr;
}

bool is_account_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '@' || c == '-';
           });
}

Result<Accounts> load_accounts(const std::string& file) {
    bool missing = false;
    const auto text = io::read_small_file(file, kMaxAccountBytes, &missing);
    if (missing) return Accounts{};
    if (!text) {
        Error error = text.error();
        error.fault = Fault::usage;
        return error;
    }
    return parse_accounts(*text, file);
}

Result<Accounts> parse_accounts(const std::string& text, const std::string& file) {
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(text);
        if (documents.size() > 1) refuse(documents[1], "the file has a second document");
        return read_accounts(documents.empty() ? YAML::Node() : documents[0]);
    } catch (const Malformed& problem) {
        return malformed(file, problem.line, problem.what);
    } catch (const YAML::Exception& problem) {
        return malformed(file, problem.mark.line, problem.msg);
    }
}

Result<void> save_accounts(const std::string& file, const Accounts& accounts,
                           const std::string& state_directory) {
    YAML::Emitter out;
    out << YAML::BeginMap << YAML::Key << "accounts" << YAML::Value << YAML::BeginMap;
    for (const auto& [name, account] : accounts) {
        out << YAML::Key << YAML::DoubleQuoted << name << YAML::Value << YAML::BeginMap;
        out << YAML::Key << "password" << YAML::Value << YAML::DoubleQuoted << account.password;
        out << YAML::Key << "root" << YAML::Value << YAML::DoubleQuoted << account.root;
        out << YAML::Key << "read_only" << YAML::Value << account.read_only << YAML::EndMap;
    }
    out << YAML::EndMap << YAML::EndMap;
    return replace_file(file, std::string(out.c_str()) + "\n", state_directory);
}

}  // namespace lambda::server
