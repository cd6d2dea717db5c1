// This program once more as a child process: what may crash or hang is done there.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "partitiontuner/support/result.h"

namespace pt::tools {

// "crashed: Segmentation fault (signal 11)", "the child process ended with exit code 3": of a status of waitpid.
std::string HowItEnded(int status);

class ChildProcess {
 public:
  // An open file of this process under another number in the child, which also has standard input, output and error.
  struct Descriptor {
    int here, there;
  };
  struct Options {
    std::vector<Descriptor> descriptors;
    bool output_to_error = false;  // what it prints must not end up among what this process prints
    bool own_group = false;        // Ctrl-C reaches this process alone, which passes it on
  };

  ChildProcess() = default;
  ~ChildProcess() { Stop(); }
  ChildProcess(const ChildProcess&) = delete;

  // Starts this program again with these arguments, the program's name first; kRunFailed where the system does not.
  // Signals are not blocked in it. Stops what ran before.
  Status Start(const std::vector<std::string>& arguments, const Options& options);
  bool running() const { return process_ > 0; }
  // Waits up to this many milliseconds for its end: true when it has ended, with waitpid's status.
  bool HasEnded(int patience_ms, int& status);
  void Signal(int signal) const;
  // A moment to end by itself, then it is killed; waitpid's status, 0 when none ran.
  int Stop();

 private:
  pid_t process_ = 0;
};

}  // namespace pt::tools
