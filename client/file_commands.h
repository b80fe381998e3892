// stat, mkdir, rm, mv and ping: commands of the control session that move no file.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

// Results are data on stdout; everything that goes wrong goes to the report, and the rest is done.
void stat(const Arguments& arguments, Report& report);
void make_directories_there(const Arguments& arguments, Report& report);
void remove_files(const Arguments& arguments, Report& report);
void remove_directories(const Arguments& arguments, Report& report);
void rename(const Arguments& arguments, Report& report);
void ping(const Arguments& arguments, Report& report);

}  // namespace lambda::client
