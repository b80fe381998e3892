#include "common/io/tree/directory_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "common/io/file/root.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kPortions[] = {1000, 10'000, std::size_t{1} << 20};

// What a file system may do to a reader: sees, and may change, what a call gave.
std::function<ssize_t(char* entries, ssize_t bytes, std::size_t room)> read_otherwise;

Words many_names(const Folder& folder) {
    Words names;
    for (int i = 0; i < 2000; ++i) {
        names.push_back("name-" + std::to_string(i * 7919 % 10007));
        write_file(folder / names.back(), "");
    }
    std::sort(names.begin(), names.end());
    return names;
}

Words read_all(const Folder& folder, std::size_t portion_bytes) {
    const Descriptor opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
    DirectoryNames names(opened.get(), folder.path(), portion_bytes);
    Words all;
    for (auto portion = names.next(); portion && !portion->empty(); portion = names.next())
        all.insert(all.end(), portion->begin(), portion->end());
    return all;
}

// The bytes that are left of `entries` without that name.
ssize_t without(const std::string& name, char* entries, ssize_t bytes) {
    for (ssize_t at = 0; at < bytes;) {
        const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
        const ssize_t length = entry->d_reclen;
        if (entry->d_name == name) {
            std::memmove(entries + at, entries + at + length, bytes - at - length);
            return bytes - length;
        }
        at += length;
    }
    return bytes;
}

}  // namespace

extern "C" ssize_t getdents64(int directory, void* entries, std::size_t room) noexcept {
    auto bytes = static_cast<ssize_t>(::syscall(SYS_getdents64, directory, entries, room));
    if (bytes > 0 && read_otherwise)
        bytes = read_otherwise(static_cast<char*>(entries), bytes, room);
    return bytes;
}

TEST_CASE("names: a large directory in portions is in order, and whole") {
    const Folder folder;
    const Words wanted = many_names(folder);
    for (const std::size_t bytes : kPortions) CHECK(read_all(folder, bytes) == wanted);
}

TEST_CASE("names: a directory that is removed while it is read is an error, not empty") {
    const Folder folder;
    const std::string top = folder / "top";
    REQUIRE(std::filesystem::create_directory(top));
    const Descriptor opened(::open(top.c_str(), O_RDONLY | O_DIRECTORY));
    REQUIRE(std::filesystem::remove(top));
    CHECK_FALSE(DirectoryNames(opened.get(), top).next().ok());
}

TEST_CASE("names: one that moves out of a reader's way is not missed") {
    const Folder folder;
    const Words wanted = many_names(folder);
    for (const std::size_t bytes : kPortions) {
        unsigned moves = 0;
        read_otherwise = [&](char* entries, ssize_t given, std::size_t) {
            const ssize_t left = moves < 3 ? without("name-7919", entries, given) : given;
            if (left == given) return given;
            ++moves;
            write_file(folder / ".new", "");
            std::filesystem::remove(folder / ".new");
            return left;
        };
        CHECK(read_all(folder, bytes) == wanted);
        CHECK(moves == 3);
        read_otherwise = {};
    }
}

TEST_CASE("names: one that comes twice is one") {
    const Folder folder;
    const Words wanted = many_names(folder);
    for (const std::size_t bytes : kPortions) {
        read_otherwise = [&](char* entries, ssize_t given, std::size_t room) {
            // The first of a call, again behind its last.
            const std::size_t length = reinterpret_cast<const dirent64*>(entries)->d_reclen;
            if (static_cast<std::size_t>(given) + length > room) return given;
            std::memcpy(entries + given, entries, length);
            return given + static_cast<ssize_t>(length);
        };
        CHECK(read_all(folder, bytes) == wanted);
        read_otherwise = {};
    }
}

TEST_CASE("names: a directory that never rests is read a bounded number of times") {
    const Folder folder;
    many_names(folder);
    unsigned calls = 0;
    read_otherwise = [&](char*, ssize_t given, std::size_t) {
        write_file(folder / ("more-" + std::to_string(calls++)), "");
        return given;
    };
    CHECK(read_all(folder, std::size_t{1} << 20).size() >= 2000);
    CHECK(calls < 100);
    read_otherwise = {};
}
