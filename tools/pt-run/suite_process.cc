#include "tools/pt-run/suite_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tools/common/text.h"

extern char** environ;

namespace pt::tools {
namespace {

Error Failed(std::string message) { return MakeError(ErrorCode::kRunFailed, "suite.child", std::move(message)); }

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    const char* const name = strsignal(WTERMSIG(status));
    return "crashed: " + std::string(name != nullptr ? name : "signal") + " (signal " +
           std::to_string(WTERMSIG(status)) + ")";
  }
  return "the child process ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

SuiteProcess::~SuiteProcess() { Stop(); }

Result<std::string> SuiteProcess::Start(const std::vector<std::string>& arguments, std::chrono::nanoseconds timeout,
                                        const CancelToken& cancel) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return Failed("no pipe to a child process");
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return Failed("no pipe to a child process");
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  // What a library prints must not end up among the suite's lines.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], kAnswerDescriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int problem = posix_spawn(&process_, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (problem != 0) {
    process_ = 0;
    Stop();
    return Failed(std::string("cannot start a child process: ") + strerror(problem));
  }
  return ReadLine(timeout, cancel);
}

Result<std::string> SuiteProcess::Ask(const std::string& line, std::chrono::nanoseconds timeout,
                                      const CancelToken& cancel) {
  const std::string text = line + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t written = write(to_, text.data() + sent, text.size() - sent);
    if (written < 0) return Failed(HowItEnded(Stop()));
    sent += static_cast<size_t>(written);
  }
  return ReadLine(timeout, cancel);
}

Result<std::string> SuiteProcess::ReadLine(std::chrono::nanoseconds timeout, const CancelToken& cancel) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (true) {
    if (const size_t newline = buffer_.find('\n'); newline != std::string::npos) {
      std::string line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      return line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      Stop();
      return Failed("time-out after " + ShortTime(timeout.count()));
    }
    if (cancel.cancelled()) {
      Stop();
      return Failed("interrupted");
    }
    pollfd readable{from_, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(std::min<int64_t>(left.count() + 1, 100))) <= 0) continue;
    char chunk[4096];
    const ssize_t got = read(from_, chunk, sizeof chunk);
    if (got <= 0) return Failed(HowItEnded(Stop()));
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

int SuiteProcess::Stop() {
  int status = 0;
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  buffer_.clear();
  if (process_ <= 0) return status;
  // A process that crashed closed its pipes before it can be waited for, and a healthy one ends by
  // itself now that they are closed: both get a moment.
  bool ended = false;
  for (int i = 0; i < 40 && !ended; ++i) {
    ended = waitpid(process_, &status, WNOHANG) == process_;
    if (!ended) usleep(i < 20 ? 500 : 5000);
  }
  if (!ended) {
    kill(process_, SIGKILL);
    waitpid(process_, &status, 0);
  }
  process_ = 0;
  return status;
}

}  // namespace pt::tools
