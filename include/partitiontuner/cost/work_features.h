// WorkFeatures: numbers that describe a piece of work for predictions of its time. Read from the key of a measurement,
// so that what was measured and what is asked for are described by the same text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pt {

enum class WorkFeature : uint8_t {
  kFlops,
  kBytes,  // as WorkSizeOf estimates them
  // As the types say: of the group's inputs, its constants, its outputs and what stays within it.
  kInputBytes,
  kConstantBytes,
  kOutputBytes,
  kInnerBytes,
  kStoredBytes,  // of inputs and outputs in their layouts, the padding of blocks included
  // The group's first input and output: dim 0, dim 1, the product of the dims after it, and the last dim.
  kInputBatch,
  kInputChannels,
  kInputSpace,
  kInputRow,  //
  kOutputBatch,
  kOutputChannels,
  kOutputSpace,
  kOutputRow,
  // From the first node that has them: elements of the kernel, product of the strides, groups.
  kKernel,
  kStride,
  kGroups,  //
  kNodes,
  kReuseKib,
  kCount
};
inline constexpr size_t kWorkFeatureCount = static_cast<size_t>(WorkFeature::kCount);
std::string_view WorkFeatureName(WorkFeature feature);  // "input_bytes"

struct WorkFeatures {
  std::string style;      // how it runs: variant, forms and elision; reorders: from which form to which
  std::string operators;  // "Conv, Relu", "Transpose perm=[0,2,1]"; empty for reorders
  std::array<double, kWorkFeatureCount> values = {};  // by feature; 0 <= value <= 1e18

  double& operator[](WorkFeature feature) { return values[static_cast<size_t>(feature)]; }
  double operator[](WorkFeature feature) const { return values[static_cast<size_t>(feature)]; }
};

// Of a candidate's or a reorder's key. Of other keys, and where sizes are unknown before a run, flops and bytes alone.
WorkFeatures FeaturesOf(std::string_view key_text, double flops, double bytes);

}  // namespace pt
