#include "tools/common/crash_retry.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <optional>
#include <vector>

#include "tools/common/child_process.h"
#include "tools/common/crash_records.h"
#include "tools/common/flags.h"

extern char** environ;

namespace pt::tools {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr size_t kDepth = 8;     // of calls within calls; deeper ones count as the one around them
constexpr size_t kSlots = 1024;  // threads at once; more are not watched

// The first calls that a thread is in, outermost first.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<const WatchedKernelName*> innermost{nullptr};
  uint32_t depth = 0;
  std::array<const WatchedKernelName*, kDepth> calls{};
};

// Signal handlers reach what is global alone.
std::array<Slot, kSlots> slots;
constinit thread_local Slot* own_slot = nullptr;

// A slot and a stack for the handler, which a thread that has overflown its own needs, as long as the thread lives.
class ThreadPart {
 public:
  ThreadPart() {
    for (Slot& slot : slots) {
      if (slot.taken.exchange(true)) continue;
      own_slot = &slot;
      break;
    }
    stack_t known{};
    if (sigaltstack(nullptr, &known) != 0 || (known.ss_flags & SS_DISABLE) == 0) return;
    const long least = sysconf(_SC_MINSIGSTKSZ);
    stack_.resize(static_cast<size_t>(std::max(least, 0L)) + kHandlerBytes);
    const stack_t ours{.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
    if (sigaltstack(&ours, nullptr) != 0) stack_.clear();
  }
  ~ThreadPart() {
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    if (!stack_.empty()) sigaltstack(&none, nullptr);
    if (own_slot != nullptr) own_slot->taken.store(false);
    own_slot = nullptr;
  }
  ThreadPart(const ThreadPart&) = delete;

 private:
  static constexpr size_t kHandlerBytes = size_t{1} << 14;
  std::vector<char> stack_;
};

// How the process starts itself anew. Made whole before the handler is.
struct Restart {
  std::string program;
  std::vector<char*> arguments;  // [1] is `flag`; null at the end
  std::array<char, 32> flag{};   // "--after-crash=5"
  int file = -1;                 // below 0: not made yet
  uint32_t attempt = 0;
  sigset_t mask{};
  std::vector<unsigned char> cores;  // that the process may use; a worker may use one
};
std::atomic<Restart*> restart{nullptr};

bool WriteRecords(const Restart& how, int signal) noexcept {
  const auto write = [&](const WatchedKernelName* kernel) {
    return WriteCrashRecord(how.file, how.attempt, static_cast<uint32_t>(signal), kernel);
  };
  if (own_slot != nullptr) {
    if (const WatchedKernelName* const kernel = own_slot->innermost.load()) return write(kernel);
  }
  // A helper of some thread that is at a first call, or a thread of a library's own.
  bool any = false;
  for (const Slot& slot : slots) {
    const WatchedKernelName* const kernel = slot.innermost.load();
    if (kernel == nullptr) continue;
    if (!write(kernel)) return false;
    any = true;
  }
  return any || write(nullptr);
}

// Returns where that cannot be done.
void StartAnew(Restart& how, int signal) noexcept {
  if (how.file < 0) how.file = MakeCrashFile();
  if (how.file < 0 || !WriteRecords(how, signal)) return;
  std::snprintf(how.flag.data(), how.flag.size(), "--after-crash=%d", how.file);
  if (!how.cores.empty()) {
    sched_setaffinity(0, how.cores.size(), reinterpret_cast<const cpu_set_t*>(how.cores.data()));
  }
  pthread_sigmask(SIG_SETMASK, &how.mask, nullptr);
  execve(how.program.c_str(), how.arguments.data(), environ);
  execve("/proc/self/exe", how.arguments.data(), environ);  // the file was replaced or moved
}

void OnCrash(int signal, siginfo_t* cause, void*) {
  static std::atomic<bool> begun{false};
  const bool was_asked = cause->si_code == SI_USER && cause->si_pid != getpid();  // kill -ABRT, for a core file
  Restart* const how = restart.load();
  if (how != nullptr && !was_asked) {
    while (begun.exchange(true)) pause();  // another thread does it
    StartAnew(*how, signal);
  }
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  raise(signal);  // when the handler has ended
}

void SetHandlers(bool ours) {
  struct sigaction action {};
  if (ours) {
    action.sa_sigaction = OnCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
  } else {
    action.sa_handler = SIG_DFL;
  }
  for (const int signal : kCrashes) sigaction(signal, &action, nullptr);
}

std::string ProgramPath() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 && static_cast<size_t>(length) < path.size() ? path.substr(0, static_cast<size_t>(length))
                                                                 : "/proc/self/exe";
}

std::vector<unsigned char> AllowedCores() {
  for (size_t bytes = 128; bytes <= size_t{1} << 16; bytes *= 2) {
    std::vector<unsigned char> cores(bytes);
    if (sched_getaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(cores.data())) == 0) return cores;
  }
  return {};
}

std::unique_ptr<Restart> RestartOf(const CrashFlags& flags, uint32_t attempt, int argc, char** argv) {
  auto how = std::make_unique<Restart>();
  how->program = ProgramPath();
  how->file = flags.after_crash;
  how->attempt = attempt;
  how->arguments = {argv[0], how->flag.data()};
  how->arguments.insert(how->arguments.end(), argv + (flags.after_crash >= 0 ? 2 : 1), argv + argc);
  how->arguments.push_back(nullptr);
  pthread_sigmask(SIG_SETMASK, nullptr, &how->mask);
  how->cores = AllowedCores();
  return how;
}

// What the last process crashed at: nothing where it was at no kernel's first call.
std::vector<std::string> LastSuspects(const std::vector<CrashRecord>& records) {
  std::vector<std::string> labels;
  for (const CrashRecord& record : records) {
    if (record.attempt != records.back().attempt || record.kernel.library.empty()) continue;
    if (std::ranges::find(labels, record.kernel.label) == labels.end()) labels.push_back(record.kernel.label);
  }
  return labels;
}

Status SayWhatCrashed(const std::vector<CrashRecord>& records, const Console& console) {
  const std::vector<std::string> suspects = LastSuspects(records);
  const std::string how = HowItEnded(static_cast<int>(records.back().signal));
  if (suspects.empty()) {
    return MakeError(ErrorCode::kRunFailed, "run.crashed", "the process " + how + ", at no kernel's first call",
                     "--on-crash end leaves it to a debugger or a core file");
  }
  std::string text;
  for (const std::string& label : suspects) text += (text.empty() ? "" : ", or ") + label;
  text += " " + how + ", when it was first called";
  if (records.back().attempt + 1 >= CrashRetry::kMostRetries) {
    return MakeError(ErrorCode::kRunFailed, "run.crashed",
                     text + "; so did others before it: " + std::to_string(CrashRetry::kMostRetries) + " crashes",
                     "leave the library out with --libraries, or --on-crash end");
  }
  console.Warn(text + "; started again without it");
  return {};
}

}  // namespace

void AddCrashFlags(CLI::App& app, CrashFlags& flags) {
  app.add_option("--on-crash", flags.on_crash,
                 "where a kernel crashes when it is first called: retry (default) starts the tool again without it, "
                 "end leaves the crash as it is")
      ->option_text("retry|end")
      ->check(OneOf({"retry", "end"}))
      ->group(kMoreGroup);
  app.add_option("--after-crash", flags.after_crash)->group("");
}

Result<std::unique_ptr<CrashRetry>> CrashRetry::Make(const CrashFlags& flags, int argc, char** argv,
                                                     const Console& console) {
  std::vector<CrashRecord> records;
  if (flags.after_crash >= 0) {
    PT_ASSIGN(records, ReadCrashRecords(flags.after_crash));
    if (!records.empty()) PT_CHECK_OK(SayWhatCrashed(records, console));
  }
  if (flags.on_crash != "retry") return std::unique_ptr<CrashRetry>();
  std::unique_ptr<CrashRetry> retry(new CrashRetry);
  for (CrashRecord& record : records) {
    retry->excluded_[std::move(record.kernel.library)].insert(std::move(record.kernel.work));
  }
  const uint32_t attempt = records.empty() ? 0 : records.back().attempt + 1;
  restart.store(RestartOf(flags, attempt, argc, argv).release());
  SetHandlers(true);
  return retry;
}

CrashRetry::~CrashRetry() {
  SetHandlers(false);
  delete restart.exchange(nullptr);
}

bool CrashRetry::IsExcluded(const WatchedKernelName& kernel) const {
  const auto of_library = excluded_.find(kernel.library);
  return of_library != excluded_.end() && of_library->second.contains(kernel.work);
}

bool CrashRetry::ExcludesAnyOf(std::string_view library) const { return excluded_.contains(library); }

void CrashRetry::Begin(const WatchedKernelName& kernel) noexcept {
  thread_local const ThreadPart part;
  (void)part;
  if (own_slot == nullptr) return;
  Slot& slot = *own_slot;
  if (slot.depth < kDepth) {
    slot.calls[slot.depth] = &kernel;
    slot.innermost.store(&kernel);
  }
  ++slot.depth;
}

void CrashRetry::End() noexcept {
  if (own_slot == nullptr) return;
  Slot& slot = *own_slot;
  --slot.depth;
  if (slot.depth < kDepth) slot.innermost.store(slot.depth > 0 ? slot.calls[slot.depth - 1] : nullptr);
}

}  // namespace pt::tools
