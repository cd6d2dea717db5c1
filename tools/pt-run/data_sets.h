// Data sets to verify a model by: folders of input_N.pb and output_N.pb or output_N.sample.json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/pt-run/verdict.h"

namespace pt::tools {

struct DataSet {
  std::string name;
  std::vector<Datum> inputs;
  std::vector<ExpectedTensor> expected;
};

// The model ready for one data set after the other: it is made ready again where the dims of the
// inputs differ from those of the set before. The engine, flags and console must outlive it.
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
  Engine& engine_;
  const RunFlags& flags_;
  const bool suite_;
  const Console& console_;
  std::shared_ptr<const ReadyModel> ready_;
  std::vector<std::vector<int64_t>> dims_;  // of the inputs ready_ was made for
};

}  // namespace pt::tools
