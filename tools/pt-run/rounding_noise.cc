#include "tools/pt-run/rounding_noise.h"

#include <algorithm>
#include <limits>

#include "partitiontuner/engine/rounding_trials.h"

namespace pt::tools {
namespace {

// The runs of one trial, the last one's outputs.
Result<std::vector<Datum>> RunTrial(const std::vector<RoundingTrials>& sizes, const std::vector<size_t>& size_of_run,
                                    const std::vector<PastRun>& runs, const std::vector<Carry>& carries, uint64_t trial,
                                    const CancelToken& cancel) {
  std::vector<RoundingTrials::Trial> opened;
  std::vector<std::shared_ptr<const ReadyModel>> ready;
  for (const RoundingTrials& size : sizes) {
    PT_ASSIGN(RoundingTrials::Trial one, size.Open(trial));
    ReadyModel model;
    model.model = size.model();
    model.session = std::move(one.session);
    ready.push_back(std::make_shared<const ReadyModel>(std::move(model)));
    opened.push_back(std::move(one));
  }
  RunsInARow in_a_row(carries);
  std::vector<Datum> outputs;
  for (size_t r = 0; r < runs.size(); ++r) {
    PT_ASSIGN(RunOutputs made, in_a_row.Next(ready[size_of_run[r]], runs[r].inputs, cancel));
    outputs = std::move(made.values);
  }
  return outputs;
}

}  // namespace

double NoiseBetween(const Datum& exact, const Datum& shaken) {
  if (!exact.is_tensor() || !shaken.is_tensor()) return 0;
  ExpectedTensor expected;
  expected.dims = exact.tensor().dims();
  expected.tensor = exact.tensor();
  constexpr Tolerance kAnyNumber = {Tolerance::Kind::kOfMaximum, 0, std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<int64_t>::max()};
  const Comparison comparison = CompareTensors(expected, shaken.tensor(), kAnyNumber);
  return comparison.equal ? comparison.max_abs : 0;
}

Result<std::vector<double>> MeasureRoundingNoise(const std::vector<PastRun>& runs, const std::vector<Carry>& carries,
                                                 const RunFlags& flags, const CancelToken& cancel) {
  std::vector<RoundingTrials> sizes;
  std::vector<size_t> size_of_run;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (r == 0 || runs[r].ready != runs[r - 1].ready) {
      ModelOptions options = runs[r].ready->options;
      // The model as it is, as often as there are requests.
      options.rewrites = Rewrites{{}, 1, options.rewrites.requests};
      options.precision = Precision();
      options.keep_loaded = false;
      PT_ASSIGN(RoundingTrials size, RoundingTrials::Make(runs[r].ready->file, options, flags.common.threads));
      sizes.push_back(std::move(size));
    }
    size_of_run.push_back(sizes.size() - 1);
  }
  PT_ASSIGN(const std::vector<Datum> exact, RunTrial(sizes, size_of_run, runs, carries, 0, cancel));
  std::vector<double> noise(exact.size(), 0);
  for (uint64_t trial = 1; trial <= kRoundingTrials; ++trial) {
    PT_ASSIGN(const std::vector<Datum> shaken, RunTrial(sizes, size_of_run, runs, carries, trial, cancel));
    for (size_t i = 0; i < noise.size(); ++i) noise[i] = std::max(noise[i], NoiseBetween(exact[i], shaken[i]));
  }
  return noise;
}

}  // namespace pt::tools
