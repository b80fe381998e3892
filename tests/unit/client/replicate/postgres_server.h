// A PostgreSQL server of the tests' own: in a temporary folder, on a Unix socket alone, ended with
// the process that started it. As root it runs as the user `postgres`, since it refuses root.
#pragma once

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "client/replicate/postgres.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {

class PostgresServer {
  public:
    // Where its programs lie; empty: not on this machine.
    static std::string programs() {
        std::string newest;
        std::error_code none;
        for (const auto& version :
             std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
            const std::string folder = version.path().string() + "/bin";
            if (std::filesystem::exists(folder + "/initdb")) newest = std::max(newest, folder);
        }
        if (::geteuid() == 0 && ::getpwnam("postgres") == nullptr) return {};
        return newest;
    }

    PostgresServer() {
        const std::string data = folder_ / "data";
        if (::geteuid() == 0) {
            const passwd* const user = ::getpwnam("postgres");
            if (::chown((folder_ / "").c_str(), user->pw_uid, user->pw_gid) != 0) std::abort();
        }
        const pid_t made = start({programs() + "/initdb", "-D", data, "-U", "tests", "-A", "trust",
                                  "--no-sync", "-E", "UTF8", "--locale=C"});
        int status = 0;
        if (::waitpid(made, &status, 0) != made || status != 0) std::abort();
        server_ = start({programs() + "/postgres", "-D", data, "-k", folder_ / "", "-h", "", "-F",
                         "-c", "max_connections=20"});
        while (true) {  // until it answers; the process' own timeout bounds it
            const auto database = PostgresDatabase::open(uri("postgres"), {});
            if (database.ok()) break;
            if (::waitpid(server_, &status, WNOHANG) == server_) std::abort();
            ::usleep(10'000);
        }
    }
    ~PostgresServer() {
        ::kill(server_, SIGQUIT);
        ::waitpid(server_, nullptr, 0);
    }
    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;

    std::string uri(const std::string& database) const {
        std::string host;
        for (const char c : folder_ / "") host += c == '/' ? std::string("%2F") : std::string(1, c);
        return "postgresql://tests@" + host + "/" + database;
    }
    // A new, empty one.
    std::string fresh() {
        const std::string name = "test" + std::to_string(++databases_);
        auto database = PostgresDatabase::open(uri("postgres"), {});
        if (!database.ok() || !(*database)->execute("CREATE DATABASE " + name).ok()) std::abort();
        return uri(name);
    }
    // Ends every connection of everybody, as a restart does.
    void cut() {
        auto database = PostgresDatabase::open(uri("postgres"), {});
        const auto ended = (*database)->execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() "
            "AND backend_type = 'client backend'");
        if (!ended.ok()) std::abort();
    }

  private:
    static pid_t start(std::vector<std::string> words) {
        const passwd* const user = ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr;
        const uid_t uid = user != nullptr ? user->pw_uid : 0;
        const gid_t gid = user != nullptr ? user->pw_gid : 0;
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        const pid_t child = ::fork();
        if (child != 0) return child;
        const int null = ::open("/dev/null", O_RDWR);
        for (const int fd : {0, 1, 2}) ::dup2(null, fd);
        if (user != nullptr && (::setgid(gid) != 0 || ::setuid(uid) != 0)) ::_exit(1);
        ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
        if (::chdir("/") == 0) ::execv(pointers[0], pointers.data());
        ::_exit(1);
    }

    Scratch folder_;
    pid_t server_ = 0;
    int databases_ = 0;
};

}  // namespace lambda::client::replicate
