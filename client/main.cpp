// lambda-ftp: the client.
#include "client/run.h"

int main(int count, char** arguments) {
    return lambda::client::run(count, arguments);
}
