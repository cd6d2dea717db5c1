// Data sets to verify a model by: folders of input_N.pb and output_N.pb or output_N.sample.json.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/support/recently_used.h"
#include "tools/pt-run/verdict.h"

namespace pt::tools {

struct DataSet {
  std::string name;
  std::vector<Datum> inputs;
  std::vector<ExpectedTensor> expected;
};

// The model ready for one data set after the other: made ready once for each size of the inputs, as long as they take
// turns among few. The engine, flags and console must outlive it.
class DataSets {
 public:
  DataSets(Engine& engine, const RunFlags& flags, bool suite, const Console& console)
      : engine_(engine), flags_(flags), suite_(suite), console_(console) {}

  // Errors: those of MakeReady; kInvalidInput when the folder does not fit the model or cannot be
  // read. Where the model is refused for its types, that is the error, whatever the files hold.
  Result<DataSet> Read(const std::string& folder);

  // The model at the dims of the data set read last. It may be kept beyond the next one.
  const std::shared_ptr<const ReadyModel>& ready() const { return ready_; }

 private:
  using Dims = std::vector<std::vector<int64_t>>;
  static constexpr size_t kMostSizes = 4;  // kept ready

  Result<std::shared_ptr<const ReadyModel>> Make(const ModelOptions& options);

  Engine& engine_;
  const RunFlags& flags_;
  const bool suite_;
  const Console& console_;
  // By how many inputs a set holds, which says whether those with a default are given; read when it is first needed.
  std::map<size_t, std::shared_ptr<const ModelFile>> files_;
  RecentlyUsed<Dims, ReadyModel> kept_{kMostSizes};
  std::shared_ptr<const ReadyModel> ready_;
};

}  // namespace pt::tools
