// How much roundings alone change the outputs of runs: what a quantised model is verified with.
#pragma once

#include <vector>

#include "tools/pt-run/carry.h"

namespace pt::tools {

// A run that was made, or one before it whose state it continues.
struct PastRun {
  std::shared_ptr<const ReadyModel> ready;
  std::vector<Datum> inputs;
};

// The largest difference that a rounding trial makes, and how many trials there are beside the exact one. Four, and
// twice what they show: the largest of a few draws is mostly less than the largest there can be.
inline constexpr uint64_t kRoundingTrials = 4;

// How far numbers lie apart; in steps for integers. 0 for what is not a tensor, and where more than numbers differs.
double NoiseBetween(const Datum& exact, const Datum& shaken);

// By output of the last run: the largest difference between it by the reference library and by one whose sums are
// rounded otherwise, over kRoundingTrials such (NoiseBetween). The runs are made in a row, each by the state that the
// one before has left where outputs are carried.
Result<std::vector<double>> MeasureRoundingNoise(const std::vector<PastRun>& runs, const std::vector<Carry>& carries,
                                                 const RunFlags& flags, const CancelToken& cancel);

}  // namespace pt::tools
