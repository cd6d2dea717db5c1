// critical-path: the rule of a Xi'an thesis: a greedy placement, then its correction: the critical path of the
// timeline is found, and what is on it is moved to other units or before what holds it up as long as the whole becomes
// faster; then the new critical path.
#include <algorithm>

#include "lib/planner/methods/dispatch.h"
#include "lib/planner/search/serial_dp.h"
#include "lib/planner/search/window_scheduler.h"

namespace pt {
namespace {

// At most this many choices are scheduled anew for each group: see WindowScheduler::spent.
constexpr uint64_t kSpending = 5000;

class Correction {
 public:
  Correction(const Space& space, Solution greedy)
      : space_(space), now_(space), sorter_(space), most_(kSpending * greedy.size()), possible_(now_.Reset(greedy)) {
    if (!possible_) greedy_ = std::move(greedy);
  }

  Solution Run() {
    if (!possible_) return std::move(greedy_);
    while (Improve()) {
    }
    return now_.solution();
  }

 private:
  // One change for the better; the heaviest on the path first.
  bool Improve() {
    std::vector<uint32_t> path = now_.CriticalChoices();
    const std::vector<uint32_t> by_place = path;
    std::stable_sort(path.begin(), path.end(), [&](uint32_t a, uint32_t b) { return Ns(a) > Ns(b); });
    for (uint32_t at : path) {
      if (MoveElsewhere(at)) return true;
    }
    for (size_t i = 1; i < by_place.size(); ++i) {
      if (MoveBefore(by_place[i - 1], by_place[i])) return true;
    }
    return false;
  }

  int64_t Ns(uint32_t at) const { return space_.option(now_.solution()[at].option).likely_ns(); }

  bool MoveElsewhere(uint32_t at) {
    const Choice now = now_.solution()[at];
    for (uint32_t o : space_.group_of(now.option).options) {
      for (UnitId unit : space_.units(space_.option(o).unit_class)) {
        const Choice other{o, unit};
        if (!(other == now) && Try({at, at + 1, {other}})) return true;
      }
    }
    return false;
  }

  // `at` and what it reads from before `blocker`, where it does not read from that.
  bool MoveBefore(uint32_t blocker, uint32_t at) {
    if (blocker >= at) return false;
    Window window{blocker, at + 1, {}};
    window.choices.assign(now_.solution().begin() + blocker, now_.solution().begin() + at + 1);
    std::vector<int64_t> keys(window.choices.size(), 0);
    keys.front() = 1;  // the sorter keeps the order of equal keys
    if (!sorter_.Sort(window.choices, keys)) return false;
    const bool same = std::equal(window.choices.begin(), window.choices.end(), now_.solution().begin() + blocker);
    return !same && Try(std::move(window));
  }

  bool Try(Window change) {
    over_ = over_ || now_.spent() >= most_ || space_.deadline().IsOver();
    if (over_) return false;
    const int64_t before = now_.score().makespan_ns;
    const Score score = now_.Try(std::move(change));
    if (score.makespan_ns >= kImpossible) return false;
    if (score.makespan_ns < before) {
      now_.Commit();
      return true;
    }
    if (score <= now_.score()) now_.Drop();
    return false;
  }

  const Space& space_;
  WindowScheduler now_;
  LegalSorter sorter_;
  const uint64_t most_;
  const bool possible_;  // else nothing is corrected
  bool over_ = false;    // no time or effort is left
  Solution greedy_;
};

}  // namespace

Result<Solved> SolveCriticalPath(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  std::vector<DispatchRun> runs;
  for (uint32_t c = 0; c < cover.size(); ++c) runs.push_back({c});
  return Solved{Correction(space, Dispatch(space, cover, runs, false)).Run()};
}

}  // namespace pt
