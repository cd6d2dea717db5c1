#include "test/testing/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace pt::testing {
namespace {

[[noreturn]] void Exec(const std::vector<std::string>& arguments, const CommandOptions& options, int out, int err) {
  const int none = open("/dev/null", O_RDONLY);
  const int file = options.out_file.empty() ? out : open(options.out_file.c_str(), O_WRONLY);
  dup2(none, STDIN_FILENO);
  dup2(file, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& pair : options.environment) putenv(const_cast<char*>(pair.c_str()));
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(125);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& arguments, const CommandOptions& options) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("cannot fork");
  if (process == 0) Exec(arguments, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  CommandResult result;
  bool signal_sent = options.signal == 0;
  const auto end = std::chrono::steady_clock::now() + options.limit;
  pollfd open_ends[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* const texts[2] = {&result.out, &result.err};
  while (open_ends[0].fd >= 0 || open_ends[1].fd >= 0) {
    if (std::chrono::steady_clock::now() > end) kill(process, SIGKILL);
    if (poll(open_ends, 2, 1000) < 0) break;
    for (int i = 0; i < 2; ++i) {
      if (open_ends[i].fd < 0 || open_ends[i].revents == 0) continue;
      char chunk[4096];
      const ssize_t got = read(open_ends[i].fd, chunk, sizeof chunk);
      if (got > 0)
        texts[i]->append(chunk, static_cast<size_t>(got));
      else
        open_ends[i].fd = -1;
    }
    if (!signal_sent && result.err.find(options.signal_after) != std::string::npos) {
      kill(process, options.signal);
      signal_sent = true;
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(process, &status, 0);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace pt::testing
