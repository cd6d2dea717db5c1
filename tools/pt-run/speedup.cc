#include "tools/pt-run/speedup.h"

#include <algorithm>

#include "partitiontuner/support/quantile_interval.h"
#include "tools/common/text.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

double MedianOfTurn(const MeasuredPlan& runner, size_t turn) {
  const auto at = [&](size_t t) {
    return runner.times_ns.begin() +
           static_cast<ptrdiff_t>(t < runner.turns.size() ? runner.turns[t] : runner.times_ns.size());
  };
  std::vector<int64_t> sorted(at(turn), at(turn + 1));
  std::sort(sorted.begin(), sorted.end());
  return static_cast<double>(PercentileOf(sorted, 50));
}

}  // namespace

Speedup SpeedupOver(const MeasuredPlan& base, const MeasuredPlan& runner) {
  std::vector<double> quotients;
  for (size_t turn = 0; turn < std::min(runner.turns.size(), base.turns.size()); ++turn) {
    quotients.push_back(MedianOfTurn(base, turn) / MedianOfTurn(runner, turn));
  }
  std::sort(quotients.begin(), quotients.end());
  Speedup speedup;
  speedup.pairs = quotients.size();
  speedup.median = quotients[quotients.size() / 2];
  if (const size_t rank = MedianIntervalRank(quotients.size()); rank > 0) {
    speedup.low = quotients[rank - 1];
    speedup.high = quotients[quotients.size() - rank];
  }
  return speedup;
}

std::string ToString(const Speedup& speedup) {
  if (!speedup.has_interval()) return Fixed(speedup.median, 3);
  return Fixed(speedup.median, 3) + " (" + Fixed(speedup.low, 3) + " to " + Fixed(speedup.high, 3) + ")";
}

std::string RemarkOn(const Speedup& speedup) {
  if (!speedup.has_interval()) return "too few turns to tell";
  return speedup.is_difference() ? "" : "no difference";
}

void AddTo(Json& json, const Speedup& speedup) {
  json.Set("speedup", speedup.median);
  if (!speedup.has_interval()) return;
  json.Set("speedup_low", speedup.low);
  json.Set("speedup_high", speedup.high);
  json.Set("difference", speedup.is_difference());
}

}  // namespace pt::tools
