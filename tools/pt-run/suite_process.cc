#include "tools/pt-run/suite_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "tools/common/text.h"

namespace pt::tools {
namespace {

Error Failed(std::string message) { return MakeError(ErrorCode::kRunFailed, "suite.child", std::move(message)); }

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
  const Status started =
      child_.Start(arguments, {{{in[0], STDIN_FILENO}, {out[1], kAnswerDescriptor}}, /*output_to_error=*/true});
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (!started.ok()) {
    Stop();
    return started.error();
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

// A process that crashed closed its pipes before it can be waited for, and a healthy one ends by itself now that they
// are closed: both get a moment.
int SuiteProcess::Stop() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  buffer_.clear();
  return child_.Stop();
}

}  // namespace pt::tools
