#include "partitiontuner/engine/test_data.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "partitiontuner/onnx/tensor_proto.h"
#include "partitiontuner/support/fields.h"
#include "partitiontuner/support/file.h"

namespace pt {
namespace {

std::string FileIn(const std::string& folder, const char* kind, size_t index, const char* ending) {
  return (std::filesystem::path(folder) / (kind + std::to_string(index) + ending)).string();
}
bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Runs of digits count as numbers: set_2 comes before set_10, as a sequence of sets was meant.
bool ComesBefore(std::string_view a, std::string_view b) {
  constexpr std::string_view kDigits = "0123456789";
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const auto number = [&](std::string_view text, size_t& at) {
      const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
      std::string_view digits = text.substr(at, end - at);
      at = end;
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
      return digits;
    };
    const auto is_digit = [&](char c) { return kDigits.find(c) != std::string_view::npos; };
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const std::string_view one = number(a, i), other = number(b, j);
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

constexpr FieldRange kDims = {0, std::numeric_limits<double>::infinity(),
                              "\"{key}\" holds {value}, which is not a dimension"};
constexpr FieldRange kStrides = {1, std::numeric_limits<double>::infinity(),
                                 "\"{key}\" is {value}; expected 1 or more"};

Result<ExpectedTensor> LoadSample(const std::string& path, const Limits& limits) {
  PT_ASSIGN(const std::string text, ReadFile(path, limits.file_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  ExpectedTensor expected;
  Status status = ReadFieldsBy(json, {"the sample", "", "test_data.sample"}, [&](FieldVisitor& v) {
    v.Field("name", expected.name, "of the output");
    v.Field("shape", expected.dims, FieldNote("of the whole output").Within(kDims));
    v.Field("stride", expected.stride, FieldNote("between the elements that are given").Within(kStrides));
    v.Field("values", expected.sample,
            FieldNote("these elements").NotEmpty("\"{key}\" is empty: nothing would be compared"));
  });
  if (!status.ok()) {
    status.error().file = path;
    return std::move(status).error();
  }
  return expected;
}

}  // namespace

Result<std::vector<Tensor>> LoadTestInputs(const std::string& folder, size_t count, const Limits& limits) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < count; ++i) {
    PT_ASSIGN(Tensor tensor, LoadTensorProto(FileIn(folder, "input_", i, ".pb"), limits));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Result<std::vector<ExpectedTensor>> LoadExpectedOutputs(const std::string& folder, size_t count, const Limits& limits) {
  return LoadExpectedOutputs(folder, std::vector<ValueType>(count), limits);
}

Result<std::vector<ExpectedTensor>> LoadExpectedOutputs(const std::string& folder, std::span<const ValueType> types,
                                                        const Limits& limits) {
  std::vector<ExpectedTensor> outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string whole = FileIn(folder, "output_", i, ".pb"),
                      sample = FileIn(folder, "output_", i, ".sample.json");
    if (!Exists(whole) && Exists(sample)) {
      PT_ASSIGN(ExpectedTensor expected, LoadSample(sample, limits));
      outputs.push_back(std::move(expected));
      continue;
    }
    ExpectedTensor expected;
    if (!types[i].other.empty()) {
      PT_ASSIGN(expected.datum, LoadValueProto(whole, types[i], limits));
      outputs.push_back(std::move(expected));
      continue;
    }
    PT_ASSIGN(Tensor tensor, LoadTensorProto(whole, limits));
    expected.dims = tensor.dims();
    expected.tensor = std::move(tensor);
    outputs.push_back(std::move(expected));
  }
  return outputs;
}

std::vector<std::string> FindTestDataSets(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("test_data_set") && at->is_directory(problem)) found.push_back(at->path().string());
  }
  std::ranges::sort(found, ComesBefore);
  return found;
}

}  // namespace pt
