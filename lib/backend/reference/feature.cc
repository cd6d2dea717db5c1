// Operators of ai.onnx.ml on features: ArrayFeatureExtractor, Binarizer, OneHotEncoder.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/elements.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/labels.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Elements of the last dim by their indices. The result of a vector has one row, as in ONNX Runtime, which ONNX's
// reference follows.
Result<ReferenceRoutine> ArrayFeatureExtractor(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.empty()) return site.Invalid("its input is a scalar");
  if (site.in[1].type != DataType::kInt64) return site.Invalid("the indices are not int64");
  const int64_t length = in.back(), picked = site.in[1].count();
  std::vector<int64_t> out = in;
  if (out.size() == 1) out = {1, 1};
  out.back() = picked;
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < in.size(); ++d) rows *= in[d];
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      const int64_t* indices = run.in<int64_t>(1);
      for (int64_t i = 0; i < picked; ++i) {
        if (indices[i] >= 0 && indices[i] < length) continue;
        return MakeError(ErrorCode::kInvalidInput, "reference.index",
                         "ArrayFeatureExtractor: index " + std::to_string(indices[i]) + " does not exist among " +
                             std::to_string(length) + " features");
      }
      T* to = run.out<T>();
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < picked; ++i) *to++ = run.in<T>(0)[r * length + indices[i]];
      }
      return {};
    }};
  });
}

// 1 for what is above the threshold, 0 for the rest, NaN included.
Result<ReferenceRoutine> Binarizer(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(site.Out(0, site.in[0].type, site.in[0].dims));
  const float threshold = ReadThreshold(site.node);
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return MapRoutine(site.in[0].count(), MapOf<T>(1, [threshold](T x) -> T {
                        return static_cast<double>(x) > static_cast<double>(threshold) ? T{1} : T{0};
                      }));
  });
}

// Places of categories; of equal ones the last counts.
template <typename C>
std::unordered_map<C, int64_t> PlacesOf(const std::vector<C>& categories) {
  std::unordered_map<C, int64_t> places;
  for (size_t i = 0; i < categories.size(); ++i) places[categories[i]] = static_cast<int64_t>(i);
  return places;
}

Error UnknownCategory(const std::string& element) {
  return MakeError(ErrorCode::kInvalidInput, "reference.category",
                   "OneHotEncoder: " + element + " is not among its categories, and zeros is 0");
}

// As the text has it, fractions are cut off. What no int64 is equal to has no category.
template <typename T>
std::optional<int64_t> AsCategory(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!(x > -0x1p63) || !(x < 0x1p63)) return std::nullopt;
  }
  return static_cast<int64_t>(x);
}

// A one at the place of each element's category, of numbers.
Result<ReferenceRoutine> OneHotEncoder(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const OneHotEncoderNode node, OrInvalid(ReadOneHotEncoder(site.node), site));
  const DataType type = site.in[0].type;
  if (node.ints.empty()) return site.Invalid("its categories are strings, its input is not");
  if (type != DataType::kInt64 && type != DataType::kInt32 && type != DataType::kFloat32 && type != DataType::kFloat64)
    return UnsupportedType(site, type);
  std::vector<int64_t> dims = site.in[0].dims;
  dims.push_back(std::ssize(node.ints));
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, dims));
  const int64_t count = site.in[0].count(), size = dims.back();
  return VisitNumbers(site, type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{
        [=, takes_unknown = node.takes_unknown, places = PlacesOf(node.ints)](const TensorCall& run) -> Status {
          const T* const x = run.in<T>(0);
          float* const out = run.out<float>();
          std::fill_n(out, count * size, 0.0F);
          for (int64_t i = 0; i < count; ++i) {
            const std::optional<int64_t> category = AsCategory(x[i]);
            const auto place = category ? places.find(*category) : places.end();
            if (place != places.end()) {
              out[i * size + place->second] = 1;
            } else if (!takes_unknown) {
              return UnknownCategory(std::to_string(x[i]));
            }
          }
          return {};
        }};
  });
}

// The same of strings.
Status OneHotStrings(DatumCall& call) {
  PT_ASSIGN(const OneHotEncoderNode node, OrInvalid(ReadOneHotEncoder(call.node), call));
  if (node.strings.empty()) return call.Invalid("its categories are integers, its input is not");
  PT_ASSIGN(const std::span<const std::string> x, call.StringsAt(0));
  PT_ASSIGN(const Tensor* const in, call.TensorAt(0));
  std::vector<int64_t> dims = in->dims();
  dims.push_back(std::ssize(node.strings));
  const auto bytes = TensorByteCount(DataType::kFloat32, dims);
  if (!bytes) return call.Unsupported("makes a tensor that is too large");
  PT_ASSIGN(Receipt receipt, CountBytes(call.memory, static_cast<uint64_t>(*bytes)));
  std::vector<float> ones(x.size() * node.strings.size(), 0.0F);
  const auto places = PlacesOf(node.strings);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto place = places.find(x[i]);
    if (place != places.end()) {
      ones[i * node.strings.size() + static_cast<size_t>(place->second)] = 1;
    } else if (!node.takes_unknown) {
      return UnknownCategory("\"" + x[i] + "\"");
    }
  }
  call.out[0] = Datum(KeepWith(std::move(receipt), Tensor::Float32(dims, ones)));
  return {};
}

constexpr std::array kFeatureOperators = {
    ReferenceRow{.op = "ArrayFeatureExtractor", .make = ArrayFeatureExtractor, .domain = "ai.onnx.ml"},
    ReferenceRow{.op = "Binarizer", .make = Binarizer, .domain = "ai.onnx.ml"},
    ReferenceRow{.op = "OneHotEncoder", .make = OneHotEncoder, .domain = "ai.onnx.ml"},
};

constexpr std::array kStringFeatureOperators = {
    DatumOperator{"OneHotEncoder", OneHotStrings, "ai.onnx.ml"},
};

}  // namespace

std::span<const ReferenceRow> FeatureOperators() { return kFeatureOperators; }
std::span<const DatumOperator> StringFeatureOperators() { return kStringFeatureOperators; }

}  // namespace pt::reference
