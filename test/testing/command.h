// Runs a program as a user would and keeps what it said.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace pt::testing {

struct CommandResult {
  int exit_code = -1;  // 128 + signal when a signal ended it, as a shell says it
  std::string out, err;
};

struct CommandOptions {
  std::vector<std::string> environment;  // "NAME=VALUE", besides the test's own
  std::string folder;                    // to run in; empty = the test's
  int signal = 0;                        // sent once the program has written `signal_after` to standard error
  std::string signal_after;
  std::chrono::seconds limit{60};  // a program that takes longer is killed (exit code 137)
  std::string out_file;            // standard output goes there instead, for instance /dev/full
};

// arguments[0] is the program. Standard input is empty.
CommandResult RunCommand(const std::vector<std::string>& arguments, const CommandOptions& options = {});

}  // namespace pt::testing
