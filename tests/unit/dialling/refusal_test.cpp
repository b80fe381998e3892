#include "common/dialling/connection.h"
#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("a refusal names its path once, from the root on") {
    for (const std::string path : {"plain", "two\nlines", "a\r\nb: c"}) {
        CAPTURE(path);
        for (const std::string& said : {path, "/" + path}) {
            CAPTURE(said);
            const std::string line = session::on_one_line(said) + ": cannot open: No such file";
            const auto error = dialling::refusal({.code = 550, .lines = {line}}, Fault::file, path);
            CHECK(error.path == "/" + path);
            CHECK(error.message == "cannot open: No such file (550)");
            CHECK(error.fault == Fault::file);
            CHECK(error.side == Side::remote);
        }
    }
}

TEST_CASE("a server that knows no PCT is told apart from one that refuses") {
    for (const int code : {500, 502}) {
        const session::Reply reply{.code = code, .lines = {"PCT is not known here"}};
        const Error error = dialling::refusal(reply, Fault::file, "two\nlines");
        CHECK(error.fault == Fault::unsupported);
        CHECK(error.path == "/two\nlines");
        CHECK_THAT(error.message, Catch::Contains("line break"));
        CHECK_FALSE(error.remedy.empty());
        CHECK(dialling::refusal(reply, Fault::file, "plain").fault == Fault::file);
    }
}
