// settings_text markdown|server|client: prints docs/settings.md, server.yaml or client.yaml.
#include <cstdio>
#include <string_view>

#include "config/documentation.h"

int main(int argc, char** argv) {
    const std::string_view wanted = argc == 2 ? argv[1] : "";
    if (wanted == "markdown") {
        std::fputs(lambda::config::settings_markdown().c_str(), stdout);
    } else if (wanted == "server") {
        std::fputs(lambda::config::server_yaml().c_str(), stdout);
    } else if (wanted == "client") {
        std::fputs(lambda::config::client_yaml().c_str(), stdout);
    } else {
        std::fputs("usage: settings_text markdown|server|client\n", stderr);
        return 2;
    }
    return 0;
}
