#include "server/accounts.h"
#include "server/account_commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include "server/command_line.h"
#include "server/password_file.h"
#include "server/password_hash.h"
#include "server/roots.h"
#include "server/state.h"
#include "tests/unit/server/temporary.h"

namespace lambda::server {

namespace {

bool fits(const std::string& password, const std::string& hash) {
    const Result<bool> same = verify_password(password, hash);
    REQUIRE(same.ok());
    return *same;
}

}  // namespace

TEST_CASE("a password fits its own hash alone") {
    const Result<std::string> hash = hash_password("secret");
    REQUIRE(hash.ok());
    CHECK(is_password_hash(*hash));
    CHECK(fits("secret", *hash));
    CHECK_FALSE(fits("secret ", *hash));
    CHECK_FALSE(fits("", *hash));
    CHECK_FALSE(fits("secret", dummy_password_hash()));
    CHECK(is_password_hash(dummy_password_hash()));
    CHECK(*hash_password("secret") != *hash);
}

TEST_CASE("the hash is RFC 7914's scrypt") {
    // Made by another implementation: Python's hashlib.scrypt, salt 00 01 ... 0f.
    CHECK(fits("password",
               "scrypt$1024$8$16$000102030405060708090a0b0c0d0e0f$"
               "e20f368ecfc124b3b6f7db47b7d7538b95883eeab5e9d71720a2381f59086007"));
}

TEST_CASE("a malformed hash fits nothing and costs nothing beyond its bound") {
    const std::string tail = "$" + std::string(32, '0') + "$" + std::string(64, '0');
    for (const std::string& hash :
         {std::string(), std::string("secret"), "scrypt$32768$8$1" + tail + "0",
          "scrypt$0$8$1" + tail, "scrypt$3$8$1" + tail, "scrypt$1048576$64$1" + tail,
          "scrypt$32768$0$1" + tail, "scrypt$32768$8$99" + tail, "bcrypt$32768$8$1" + tail}) {
        CAPTURE(hash);
        CHECK_FALSE(is_password_hash(hash));
        CHECK_FALSE(fits("secret", hash));
    }
}

TEST_CASE("the password is the first line of its file") {
    const TemporaryDirectory scratch;
    const std::string file = scratch / "password";
    scratch.write("password", "a secret \r\nanother\n");
    REQUIRE(::chmod(file.c_str(), 0600) == 0);
    CHECK(read_password_file(file)->password == "a secret ");
    CHECK_FALSE(read_password_file(file)->readable_by_others);
    REQUIRE(::chmod(file.c_str(), 0640) == 0);
    CHECK(read_password_file(file)->readable_by_others);
    scratch.write("password", "\nsecond line\n");
    CHECK_FALSE(read_password_file(file).ok());
    CHECK_FALSE(read_password_file(scratch / "none").ok());
    CHECK(read_password_file(scratch.path()).error().message == "cannot read: Is a directory");
}

TEST_CASE("accounts survive their file, which nobody else can read") {
    const TemporaryDirectory scratch;
    const std::string file = scratch / "accounts.yaml";
    CHECK(load_accounts(file)->empty());
    const Accounts accounts{
        {"alice",
         {.password = dummy_password_hash(), .root = "/srv/a \"b\": #c", .read_only = true}},
        {"1.5", {.password = dummy_password_hash(), .root = "", .read_only = false}}};
    REQUIRE(save_accounts(file, accounts, scratch.path()).ok());
    const Result<Accounts> loaded = load_accounts(file);
    REQUIRE(loaded.ok());
    CHECK(*loaded == accounts);
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
}

TEST_CASE("malformed accounts are refused with file and line") {
    const std::string good = "password: \"" + dummy_password_hash() + "\"";
    CHECK(parse_accounts("accounts:\n  a: {" + good + "}\n", "f").ok());
    CHECK(parse_accounts("accounts:\n", "f")->empty());
    CHECK(parse_accounts("", "f").error().path == "f");  // half-written
    for (const std::string& text :
         {std::string("accounts: [a]"), std::string("users: {}"), std::string("accounts: {a: b}"),
          std::string("accounts: {a: {root: /x}}"),
          std::string("accounts: {a: {password: secret}}"), "accounts: {-a: {" + good + "}}",
          "accounts: {a b: {" + good + "}}", "accounts: {a: {" + good + ", rooot: /x}}",
          "accounts: {a: {" + good + ", root: x}}",
          "accounts: {a: {" + good + ", read_only: perhaps}}",
          "accounts: {a: {" + good + ", read_only: true, read_only: false}}",
          std::string("accounts: {a: ["), std::string("accounts: \t{"),
          "accounts: {a: {" + good + "}, a: {" + good + "}}"}) {
        CAPTURE(text);
        const Result<Accounts> parsed = parse_accounts(text, "f");
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().path.find("f:1") == 0);
    }
    CHECK(parse_accounts("accounts:\n  a:\n    b: c\n", "f").error().path == "f:3");
    CHECK_FALSE(parse_accounts("accounts:\n---\naccounts:\n", "f").ok());
}

TEST_CASE("accounts that cannot be read are not taken for none, and stay") {
    const TemporaryDirectory scratch;
    const std::string file = scratch / "accounts.yaml";
    std::filesystem::create_directory(file);
    const Result<Accounts> loaded = load_accounts(file);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().fault == Fault::usage);
    CHECK(loaded.error().message == "cannot read: Is a directory");
}

// `user add alice`, and where it keeps what it does.
struct UserCommand {
    TemporaryDirectory scratch;
    config::ServerSettings settings;
    CommandLine line;

    UserCommand() {
        scratch.write("password", "secret\n");
        settings.state = scratch / "state";
        line.user = "alice";
        line.password_file = scratch / "password";
    }
};

TEST_CASE("accounts are added, changed and removed") {
    UserCommand command;
    auto& [scratch, settings, line] = command;
    line.root = scratch.path();
    REQUIRE(add_user(line, settings).ok());
    line.read_only = true;
    REQUIRE(add_user(line, settings).ok());
    // What is not named stays as it was.
    const std::string root = std::exchange(line.root, {});
    line.read_only = false;
    REQUIRE(add_user(line, settings).ok());
    CHECK(list_users(settings).value().find("read-only " + root) != std::string::npos);
    line.read_write = true;
    REQUIRE(add_user(line, settings).ok());
    CHECK(list_users(settings).value().find("read-write " + root) != std::string::npos);
    line.read_write = false;
    line.read_only = true;
    line.root = root;
    REQUIRE(add_user(line, settings).ok());
    CHECK(*list_users(settings) == "alice read-only " + scratch.path() + "\n");
    line.user = "-x";
    CHECK_FALSE(add_user(line, settings).ok());
    CHECK(remove_user("alice", settings).ok());
    CHECK_FALSE(remove_user("alice", settings).ok());
}

TEST_CASE("an account needs a root of its own or of the settings, that is there") {
    UserCommand command;
    auto& [scratch, settings, line] = command;
    const auto refused = add_user(line, settings);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().fault == Fault::usage);
    CHECK(refused.error().sentence().find("no root") != std::string::npos);
    CHECK(load_accounts(settings.state + "/accounts.yaml")->empty());
    settings.root = scratch / "none";
    CHECK(add_user(line, settings).error().sentence().find("make it first") != std::string::npos);
    settings.root = scratch / "password";
    CHECK_FALSE(add_user(line, settings).ok());
    line.root = scratch / "none";
    CHECK(add_user(line, settings).error().sentence().find("make it first") != std::string::npos);
    line.root.clear();
    settings.root = scratch.path();
    CHECK(add_user(line, settings)->starts_with("account alice added; "));
    CHECK(add_user(line, settings)->starts_with("account alice changed; "));

    const Accounts accounts = *load_accounts(settings.state + "/accounts.yaml");
    CHECK(check_roots(accounts, settings).ok());
    settings.root.clear();
    CHECK_FALSE(check_roots(accounts, settings).ok());
    CHECK(check_roots({}, settings).ok());
}

TEST_CASE("what root writes belongs to the server's user") {
    if (::geteuid() != 0) return;  // another user can give nothing away
    constexpr uid_t kServer = 12345;
    constexpr uid_t kOther = 23456;
    const TemporaryDirectory scratch;
    const std::string file = scratch / "accounts.yaml";
    const auto owner = [](const std::string& path) {
        struct stat status {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        return status.st_uid;
    };
    REQUIRE(::chown(scratch.path().c_str(), kServer, kServer) == 0);
    REQUIRE(save_accounts(file, {}, scratch.path()).ok());
    CHECK(owner(file) == kServer);
    REQUIRE(::chown(file.c_str(), kOther, kOther) == 0);
    REQUIRE(save_accounts(file, {}, scratch.path()).ok());
    CHECK(owner(file) == kOther);
    REQUIRE(::chown(file.c_str(), 0, 0) == 0);
    REQUIRE(save_accounts(file, {}, scratch.path()).ok());
    CHECK(owner(file) == kServer);

    scratch.write("password", "secret\n");
    config::ServerSettings settings;
    settings.state = scratch.path();
    settings.root = scratch.path();
    CommandLine line;
    line.user = "alice";
    line.password_file = scratch / "password";
    REQUIRE(add_user(line, settings).ok());
    CHECK(owner(file + ".lock") == kServer);

    // The server's user has put another's file there.
    const std::string another = scratch / "another";
    scratch.write("another", "");
    REQUIRE(::unlink((file + ".lock").c_str()) == 0);
    REQUIRE(::link(another.c_str(), (file + ".lock").c_str()) == 0);
    CHECK_FALSE(add_user(line, settings).ok());
    CHECK(owner(another) == 0);
}

TEST_CASE("the account of --user needs a root and a password") {
    const TemporaryDirectory scratch;
    scratch.write("password", "secret\n");
    CommandLine line;
    line.state = scratch / "state";
    line.user = "alice";
    line.password_file = scratch / "password";
    CHECK_FALSE(accounts_of(line, *settings_of(line)).ok());
    line.root = scratch.path();
    const Result<Accounts> accounts = accounts_of(line, *settings_of(line));
    REQUIRE(accounts.ok());
    CHECK(fits("secret", accounts->at("alice").password));
    CHECK_FALSE(accounts->at("alice").read_only);
    // Read again, it is stored as before for as long as the password is the same.
    CHECK(*accounts_of(line, *settings_of(line), *accounts) == *accounts);
    CHECK(accounts_of(line, *settings_of(line))->at("alice") != accounts->at("alice"));
    scratch.write("password", "another\n");
    const auto changed = accounts_of(line, *settings_of(line), *accounts);
    REQUIRE(changed.ok());
    CHECK(fits("another", changed->at("alice").password));
    line.password_file.clear();
    CHECK_FALSE(accounts_of(line, *settings_of(line)).ok());
    line.user.clear();
    line.password_file = scratch / "password";
    CHECK_FALSE(accounts_of(line, *settings_of(line)).ok());
}

TEST_CASE("no transfer number serves twice") {
    const TemporaryDirectory scratch;
    const std::uint64_t first = *first_transfer_number(scratch.path());
    CHECK(first == 1ull << 32);
    CHECK(*first_transfer_number(scratch.path()) == first + (1ull << 32));
    scratch.write("starts", "many\n");
    CHECK_FALSE(first_transfer_number(scratch.path()).ok());
    std::filesystem::remove(scratch / "starts");
    std::filesystem::create_directory(scratch / "starts");
    CHECK_FALSE(first_transfer_number(scratch.path()).ok());
}

TEST_CASE("the state directory is closed to others, and half a certificate is refused") {
    const TemporaryDirectory scratch;
    const std::string state = scratch / "state";
    REQUIRE(::mkdir(state.c_str(), 0755) == 0);
    REQUIRE(make_state_directory(state).ok());
    struct stat status {};
    REQUIRE(::stat(state.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0700);
    CHECK_FALSE(make_state_directory(scratch / "no/such").ok());
    const std::string others = scratch / "others";
    REQUIRE(::mkdir(others.c_str(), 0755) == 0);
    scratch.write("others/file", "");
    for (const mode_t mode : {0755, 01777}) {  // of a key that its owner put there; /tmp
        REQUIRE(::chmod(others.c_str(), mode) == 0);
        CHECK(make_state_directory(others).ok() == (mode == 0755));
        REQUIRE(::stat(others.c_str(), &status) == 0);
        CHECK((status.st_mode & 07777U) == mode);
    }
    scratch.write("others/starts", "1\n");
    CHECK(make_state_directory(others).ok());
    scratch.write("file", "");
    CHECK_FALSE(make_state_directory(scratch / "file").ok());

    scratch.write("key.pem", "");
    CHECK_FALSE(ensure_certificate(scratch / "certificate.pem", scratch / "key.pem").ok());
}

}  // namespace lambda::server
