#include "partitiontuner/engine/rate_search.h"

#include <cmath>

namespace pt {
namespace {

class Trials {
 public:
  Trials(const RateSearch& search, const RateTrial& trial) : search_(search), trial_(trial) {}

  bool MayTry(double rate) const {
    const bool cancelled = search_.cancel != nullptr && search_.cancel->cancelled();
    return count_ < search_.most_trials && !cancelled && rate >= search_.least_rate;
  }
  Result<bool> Try(double rate, bool confirms) {
    ++count_;
    return trial_(rate, confirms);
  }
  // The highest rate of the first phase that holds; 0: none.
  Result<double> Bracket() {
    double low = 0, high = 0, rate = search_.first_rate;
    while (MayTry(rate) && (low == 0 || high == 0 || high / low >= search_.nearness)) {
      PT_ASSIGN(const bool holds, Try(rate, false));
      (holds ? low : high) = rate;
      rate = low == 0 ? high / 4 : high == 0 ? 2 * low : std::sqrt(low * high);
    }
    return low;
  }

 private:
  const RateSearch& search_;
  const RateTrial& trial_;
  size_t count_ = 0;
};

}  // namespace

Result<double> FindHighestRate(const RateSearch& search, const RateTrial& trial) {
  constexpr double kStepDown = 0.93;
  Trials trials(search, trial);
  PT_ASSIGN(double rate, trials.Bracket());
  for (; rate > 0 && trials.MayTry(rate); rate *= kStepDown) {
    PT_ASSIGN(const bool holds, trials.Try(rate, true));
    if (holds) return rate;
  }
  return 0.0;
}

}  // namespace pt
