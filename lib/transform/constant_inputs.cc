#include "partitiontuner/transform/constant_inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/aligned_bytes.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

Error Refused(const Value& input, const std::string& why, std::string hint = {}) {
  return MakeError(ErrorCode::kUsage, "constant_inputs.value",
                   "input \"" + input.name + "\" cannot be a constant: " + why, std::move(hint));
}

// The number as an element: of integers the very number, of floating-point numbers the nearest one.
template <typename T>
std::optional<T> ElementFor(double number) {
  if constexpr (std::is_same_v<T, bool>) {
    if (number != 0 && number != 1) return std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    // Up to here no other integer becomes this double when it is read; the limits of shorter types lie within.
    constexpr double kMostExact = 9007199254740991.0;
    const double least = std::max(-kMostExact, static_cast<double>(std::numeric_limits<T>::min()));
    const double most = std::min(kMostExact, static_cast<double>(std::numeric_limits<T>::max()));
    if (number < least || number > most || std::trunc(number) != number) return std::nullopt;
  }
  const T element = ElementOf<T>(number);
  return std::isfinite(NumberOf<double>(element)) ? std::optional<T>(element) : std::nullopt;
}

Result<Tensor> Filled(const Value& input, const std::vector<int64_t>& dims, std::span<const std::byte> element) {
  const auto count = CheckedProduct(dims);
  const auto bytes = count ? CheckedMul(*count, static_cast<int64_t>(element.size())) : std::nullopt;
  if (!bytes) {
    return MakeError(ErrorCode::kOutOfMemory, "constant_inputs.size", "input \"" + input.name + "\" is too large");
  }
  PT_ASSIGN(AlignedBytes data, AllocateAligned(static_cast<size_t>(*bytes)));
  for (size_t at = 0; at < data.bytes.size(); at += element.size()) {
    std::memcpy(data.bytes.data() + at, element.data(), element.size());
  }
  return Tensor::FromShared(input.type.type, dims, std::move(data.owner), data.bytes);
}

Result<Tensor> TensorOf(const Value& input, double number) {
  const std::optional<std::vector<int64_t>> dims = input.type.static_dims();
  if (!dims) {
    return Refused(input, "its dims are not known: " + ToString(input.type), "give --shape " + input.name + "=1x3x4");
  }
  return VisitType(input.type.type, [&]<typename T>() -> Result<Tensor> {
    if constexpr (kIsNumber<T>) {
      const std::optional<T> element = ElementFor<T>(number);
      if (element) return Filled(input, *dims, std::as_bytes(std::span(&*element, 1)));
      return Refused(input, std::string(DataTypeName(input.type.type)) + " has no " + ConstantText(number));
    }
    return Refused(input, "it is " + ToString(input.type) + ", no tensor of real numbers");
  });
}

}  // namespace

std::string ConstantText(double number) {
  char text[32];
  const auto [end, problem] = std::to_chars(text, text + sizeof text, number);
  return std::string(text, problem == std::errc() ? end : text);
}

Result<std::vector<std::optional<Tensor>>> ConstantTensors(const Graph& graph, const ConstantInputs& constants) {
  std::vector<std::optional<Tensor>> values(graph.inputs().size());
  for (const auto& [name, number] : constants) {
    const auto input =
        std::ranges::find_if(graph.inputs(), [&, &name = name](ValueId id) { return graph.value(id).name == name; });
    if (input == graph.inputs().end()) {
      std::string known;
      for (ValueId id : graph.inputs()) known += (known.empty() ? "" : ", ") + graph.value(id).name;
      return MakeError(ErrorCode::kUsage, "constant_inputs.unknown", "the model has no input \"" + name + "\"",
                       "its inputs: " + known);
    }
    PT_ASSIGN(Tensor tensor, TensorOf(graph.value(*input), number));
    values[static_cast<size_t>(input - graph.inputs().begin())] = std::move(tensor);
  }
  return values;
}

Result<Graph> ReadConstantInputs(const Graph& graph, std::span<const std::optional<Tensor>> values) {
  GraphBuilder builder(graph);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) builder.ReplaceUses(graph.inputs()[i], builder.AddConstant("", *values[i]));
  }
  return builder.Build();
}

}  // namespace pt
