// lambda-lab: a WAN on one machine.
#include <exception>
#include <iostream>

#include "tools/lab/command_line.h"

int main(int count, char** words) {
    try {
        return lambda::lab::run_command_line(count, words);
    } catch (const std::exception& problem) {
        std::cerr << "lambda-lab: " << problem.what() << "\n";
        return 1;
    }
}
