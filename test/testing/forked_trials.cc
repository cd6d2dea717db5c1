#include "test/testing/forked_trials.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>

namespace pt::testing {
namespace {

enum class State : char { kWaiting, kRunning, kOver };

struct Entry {
  State state;  // first what a fresh page holds
  char text[241];
};

// Memory that parent and children share.
class Page {
 public:
  explicit Page(size_t count) : bytes_(std::max<size_t>(1, count) * sizeof(Entry)), count_(count) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory to share");
  }
  ~Page() { munmap(memory_, bytes_); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  std::span<Entry> entries() { return {static_cast<Entry*>(memory_), count_}; }

 private:
  size_t bytes_, count_;
  void* memory_;
};

std::string Tried(const std::function<std::string(size_t)>& trial, size_t i) {
  try {
    return trial(i);
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

[[noreturn]] void RunFrom(size_t first, std::span<Entry> entries, const std::function<std::string(size_t)>& trial,
                          unsigned limit_s) {
  // The test's own handlers would tell of a crash as if the test had ended.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
  for (size_t i = first; i < entries.size(); ++i) {
    entries[i].state = State::kRunning;
    alarm(limit_s);
    const std::string text = Tried(trial, i);
    alarm(0);
    std::strncpy(entries[i].text, text.c_str(), sizeof entries[i].text - 1);
    entries[i].state = State::kOver;
  }
  _exit(0);
}

}  // namespace

std::vector<std::string> RunForked(size_t count, const std::function<std::string(size_t)>& trial, unsigned limit_s) {
  Page page(count);
  std::vector<std::string> ends(count);
  for (size_t first = 0; first < count;) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) RunFrom(first, page.entries(), trial, limit_s);
    int status = 0;
    waitpid(child, &status, 0);
    while (first < count && page.entries()[first].state == State::kOver) {
      ends[first] = page.entries()[first].text;
      ++first;
    }
    if (first == count) break;
    ends[first++] = WIFSIGNALED(status) ? "crashed: signal " + std::to_string(WTERMSIG(status))
                                        : "exited: " + std::to_string(WEXITSTATUS(status));
  }
  return ends;
}

}  // namespace pt::testing
