#include "lib/onnx/data_propagation.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pt {
namespace {

using proto::DataPropagationContext;
using proto::TensorShapeProto;

constexpr int64_t kMostElements = 4096;  // more than any tensor's dims

// Asked of types first: contents are made into a shape when they are asked for.
bool IsSmall(DataPropagationContext& context, size_t input) {
  const proto::TypeProto* type = context.getInputType(input);
  if (type != nullptr && type->has_tensor_type() && type->tensor_type().has_shape()) {
    int64_t elements = 1;
    for (const auto& dim : type->tensor_type().shape().dim()) {
      if (dim.dim_value() > kMostElements || (elements *= std::max<int64_t>(dim.dim_value(), 1)) > kMostElements) {
        return false;
      }
    }
  }
  const TensorShapeProto* contents = context.getInputData(input);
  return contents == nullptr || contents->dim_size() <= kMostElements;
}

bool AreNumbers(const TensorShapeProto* contents) {
  if (contents == nullptr) return true;
  for (const auto& dim : contents->dim()) {
    if (!dim.has_dim_value()) return false;
  }
  return true;
}

bool SlicesByShortSteps(DataPropagationContext& context) {
  constexpr size_t kFirstNumber = 1, kSteps = 4;
  for (size_t i = kFirstNumber; i < context.getNumInputs(); ++i) {
    if (!AreNumbers(context.getInputData(i))) return false;
  }
  const TensorShapeProto* steps = context.getNumInputs() > kSteps ? context.getInputData(kSteps) : nullptr;
  if (steps == nullptr) return true;
  for (const auto& step : steps->dim()) {
    if (step.dim_value() < -kMostElements || step.dim_value() > kMostElements) return false;
  }
  return true;
}

}  // namespace

void GuardPropagation(proto::OpSchema& schema) {
  const bool slices = schema.Name() == "Slice";
  schema.PartialDataPropagationFunction(
      [slices, propagate = schema.GetDataPropagationFunction()](DataPropagationContext& context) {
        for (size_t i = 0; i < context.getNumInputs(); ++i) {
          if (!IsSmall(context, i)) return;
        }
        if (!slices || SlicesByShortSteps(context)) propagate(context);
      });
}

}  // namespace pt
