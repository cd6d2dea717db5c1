#include "tools/pt-profile/isolation.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "tools/common/child_process.h"
#include "tools/common/text.h"
#include "tools/pt-profile/watch_page.h"

namespace pt::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookMs = 200;  // how often the child is looked at: seldom enough to leave its times alone

class Watcher {
 public:
  Watcher(const IsolationOptions& options, Console& console, const InterruptWatch& interrupt, WatchPage& page)
      : options_(options), console_(console), interrupt_(interrupt), page_(page), started_(Clock::now()) {}

  Result<int> Run() {
    while (true) {
      page_.Clear();
      PT_CHECK_OK(page_.Tell(culprits_));
      PT_CHECK_OK(child_.Start(Arguments(), {{{page_.descriptor(), WatchPage::kDescriptor}}, false, true}));
      const int status = WaitForEnd();
      const WatchPage::AtWork at_work = page_.at_work();
      if (interrupt_.token().cancelled()) return interrupt_.exit_code();
      // Whoever exits in the middle of a key is no better than who crashes there.
      if (WIFEXITED(status) && at_work.key.empty()) return WEXITSTATUS(status);
      PT_CHECK_OK(NoteCulprit(at_work, status));
    }
  }

 private:
  std::vector<std::string> Arguments() const {
    std::vector<std::string> arguments = options_.arguments;
    if (options_.budget.count() > 0) {
      const auto left = options_.budget - (Clock::now() - started_);
      arguments.push_back("--budget");
      arguments.push_back(std::to_string(std::max<int64_t>(1, left.count() / 1'000'000)) + "ms");
    }
    return arguments;
  }

  int WaitForEnd() {
    hung_ = false;
    bool told = false;
    int status = 0;
    while (!child_.HasEnded(kLookMs, status)) {
      if (interrupt_.token().cancelled()) {
        // It keeps what it has and ends by itself; a second signal ends this process, and the child with it.
        if (!told) child_.Signal(interrupt_.exit_code() == 143 ? SIGTERM : SIGINT);
        told = true;
      }
      if (page_.at_work().for_ns > options_.key_timeout.count()) {
        hung_ = true;
        child_.Signal(SIGKILL);
      }
    }
    return status;
  }

  Status NoteCulprit(const WatchPage::AtWork& at_work, int status) {
    console_.EndProgress();
    const std::string what =
        hung_ ? "hung: no end after " + ShortTime(options_.key_timeout.count()) : HowItEnded(status);
    const bool known = std::ranges::any_of(culprits_, [&](const Culprit& c) { return c.key == at_work.key; });
    if (at_work.key.empty() || known) {
      Error error = MakeError(
          ErrorCode::kRunFailed, "isolate.child",
          "the process that measures " + what + (known ? ", again at " + at_work.label : ", and was at no measurement"),
          "what was measured is kept; --isolate none shows it in this process");
      return error;
    }
    // Killed from outside, it may have been for want of memory: that says nothing for good.
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !hung_;
    culprits_.push_back({at_work.key, at_work.label, {what, !killed}});
    console_.Warn(at_work.label + ": " + what + "; measuring goes on without it");
    return {};
  }

  const IsolationOptions& options_;
  Console& console_;
  const InterruptWatch& interrupt_;
  WatchPage& page_;
  const Clock::time_point started_;
  ChildProcess child_;
  std::vector<Culprit> culprits_;
  bool hung_ = false;
};

}  // namespace

Result<int> RunIsolated(const IsolationOptions& options, Console& console, const InterruptWatch& interrupt) {
  PT_ASSIGN(const std::unique_ptr<WatchPage> page, WatchPage::Make());
  return Watcher(options, console, interrupt, *page).Run();
}

}  // namespace pt::tools
