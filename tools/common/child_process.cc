#include "tools/common/child_process.h"

#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

extern char** environ;

namespace pt::tools {

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    const char* const name = strsignal(WTERMSIG(status));
    return "crashed: " + std::string(name != nullptr ? name : "signal") + " (signal " +
           std::to_string(WTERMSIG(status)) + ")";
  }
  return "the child process ended with exit code " + std::to_string(WEXITSTATUS(status));
}

Status ChildProcess::Start(const std::vector<std::string>& arguments, const Options& options) {
  Stop();
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.output_to_error) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  for (const Descriptor& descriptor : options.descriptors) {
    posix_spawn_file_actions_adddup2(&actions, descriptor.here, descriptor.there);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | (options.own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  const int problem = posix_spawn(&process_, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (problem == 0) return {};
  process_ = 0;
  return MakeError(ErrorCode::kRunFailed, "child.start",
                   std::string("cannot start a child process: ") + strerror(problem));
}

bool ChildProcess::HasEnded(int patience_ms, int& status) {
  if (process_ <= 0) return true;
  constexpr int kLongestStepMs = 20;  // an end is seen soon, and what runs long is not disturbed
  for (int waited = 0, step = 1;; waited += step, step = std::min(2 * step, kLongestStepMs)) {
    if (waitpid(process_, &status, WNOHANG) == process_) {
      process_ = 0;
      return true;
    }
    if (waited >= patience_ms) return false;
    usleep(static_cast<useconds_t>(step) * 1000);
  }
}

void ChildProcess::Signal(int signal) const {
  if (process_ > 0) kill(process_, signal);
}

int ChildProcess::Stop() {
  int status = 0;
  constexpr int kMomentMs = 100;
  if (process_ <= 0 || HasEnded(kMomentMs, status)) return status;
  kill(process_, SIGKILL);
  waitpid(process_, &status, 0);
  process_ = 0;
  return status;
}

}  // namespace pt::tools
