// Input data as the flags give it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"

namespace pt::tools {

// What --input says. Nothing given: random numbers in [-1, 1].
struct GivenInputs {
  std::vector<Tensor> by_position;        // from a folder of input_N.pb
  std::map<std::string, Tensor> by_name;  // from INPUT=@FILE
  // From NAME=DIR, until the models are read (OpenGiven).
  std::map<std::string, std::vector<Tensor>> by_model;
  double random_low = -1, random_high = 1;
  bool random_range_given = false;
  bool standard_normal = false;  // real numbers from the normal distribution of deviation 1 instead of the range
};
Result<GivenInputs> ReadInputs(const std::vector<std::string>& flags);
Result<Tensor> LoadTensorFile(const std::string& path);  // .npy or .pb

// The folders of data sets that are meant: the folder itself when it holds data, else the test_data_set_* folders in
// it. Errors: kInvalidInput (no such folder).
Result<std::vector<std::string>> DataSetFolders(const std::string& folder);

// Adds what the given data says of the model: its dims (--shape wins), and which inputs with a default it is for.
void AddDims(const GivenInputs& given, ModelOptions& options);
// The same of data for one input, which it names.
void AddDimsOf(const Value& input, const std::vector<int64_t>& dims, ModelOptions& options);

// One tensor for each graph input: the given one, the constant that it always is, its default, or random numbers that
// are the same for the same seed. Data by position that is enough for one request is given to each. Random indices stay
// within what they index. Errors: kInvalidInput (type or dims differ from the model's, unknown name), kUnsupported
// (dims still unknown, or a type that cannot be drawn).
Result<std::vector<Tensor>> MakeInputs(const Model& model, const GivenInputs& given, uint64_t seed);
// The same of what was read from a data set's folder, which must hold every input (kInvalidInput).
Result<std::vector<Tensor>> DataSetInputs(const Model& model, const GivenInputs& given, const std::string& folder);

// A folder of data, and which of several models it is for; empty where it does not say.
struct ModelFolder {
  std::string model, folder;
};
// "DIR" or "NAME=DIR"; nothing where it names no folder.
std::optional<ModelFolder> FolderFrom(const std::string& text);
// input_0.pb, input_1.pb and so on, as far as there are any.
std::vector<std::string> InputFilesOf(const std::string& folder);
// The data for that graph input, counted from 0: by name or position, what it always is, or its default; null where it
// is drawn at random.
const Tensor* DataOf(const Model& model, const GivenInputs& given, size_t input);
// kInvalidInput when the given data is not of the type and dims of that graph input.
Status CheckGiven(const Value& input, const Tensor& given);

}  // namespace pt::tools
