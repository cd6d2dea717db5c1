// Data sets to verify a model by: folders of input_N.pb and output_N.pb or output_N.sample.json.
#pragma once

#include <map>
#include <memory>
#include <span>
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

struct FolderFiles;

// The folders that --verify means, set by set: of one model each folder is a set. Of several (NAME=DIR with commas
// between) each set has a folder of each model, those with fewer begin again. Errors: kUsage (a model without data, or
// data of none), kInvalidInput (no such folder).
Result<std::vector<std::vector<ModelFolder>>> FolderSets(const RunFlags& flags);

// The model ready for one data set after the other: made ready once for each size of the inputs, as long as they take
// turns among few. The engine, flags and console must outlive it.
class DataSets {
 public:
  DataSets(Engine& engine, const RunFlags& flags, bool suite, const Console& console)
      : engine_(engine), flags_(flags), suite_(suite), console_(console) {}

  // Errors: those of MakeReady; kInvalidInput when the folder does not fit the model or cannot be
  // read. Where the model is refused for its types, that is the error, whatever the files hold.
  // One folder for each model, in their order; of one model it names none.
  Result<DataSet> Read(std::span<const ModelFolder> folders);

  // The model at the dims of the data set read last. It may be kept beyond the next one.
  const std::shared_ptr<const ReadyModel>& ready() const { return ready_; }

 private:
  struct Key {
    std::vector<size_t> counts;              // of the files, by model
    std::vector<std::vector<int64_t>> dims;  // by file
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static constexpr size_t kMostSizes = 4;  // kept ready

  Result<std::shared_ptr<const ReadyModel>> Make(const std::vector<FolderFiles>& folders,
                                                 const std::vector<size_t>& counts);

  Engine& engine_;
  const RunFlags& flags_;
  const bool suite_;
  const Console& console_;
  // By how many inputs a set holds, which says whether those with a default are given; read when it is first needed.
  std::map<std::vector<size_t>, std::shared_ptr<const ModelFile>> files_;
  RecentlyUsed<Key, ReadyModel> kept_{kMostSizes};
  std::shared_ptr<const ReadyModel> ready_;
};

}  // namespace pt::tools
