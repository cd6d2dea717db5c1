// What convolutions and transposed ones are made of, whichever primitives compute them.
#pragma once

#include <optional>
#include <span>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/backend/window_parameters.h"

namespace pt::onednn {

struct ConvolutionParts {
  bool transposed = false;
  Dims x, w, y;  // of the node's input, weights and result
  int64_t groups = 1;
  WindowParameters window;
  uint32_t source = 0;  // index of x into the group's inputs
  // Constant weights, or their index into the group's inputs. Those of integers have a zero point of none.
  std::optional<Tensor> weights;
  std::optional<uint32_t> weights_input;
  // The same of the bias; neither: none. A constant added for each channel counts as one.
  std::optional<Tensor> bias;
  std::optional<uint32_t> bias_input;
  const Quantised* x_read = nullptr;  // both null where real numbers are read
  const Quantised* w_read = nullptr;
  std::span<const Pointwise> ops;  // what follows the bias

  DataType weights_type(const Request& request) const;  // once packed
};

// Of the group's anchor; kUnsupported where attributes, dims or integers do not fit together.
Result<ConvolutionParts> PartsOf(const Request& request, bool transposed);

// Scales and zero points of the integers that are read and written, nothing where there are none. repeats: that many
// times as many output channels, the weights' scales again and again.
Status AddQuantisations(const Request& request, const ConvolutionParts& parts, int64_t repeats,
                        dnnl::primitive_attr& attributes, KernelDescriptor& descriptor);

// Whether oneDNN computes a convolution by these weights to this result wrongly in less than float32, channels-last:
// the node's own, or one that a transposed convolution is made of.
bool IsWrongInLess(const ConvolutionParts& parts, const Dims& w, const Dims& y, const WindowParameters& window);

// The transposed convolution by phases (phases.h): for each group of them a convolution into a temporary, whose results
// are then laid where they belong. Constant weights only, and nothing behind it but functions of single elements.
Result<KernelDescriptor> BuildPhases(const Request& request);

}  // namespace pt::onednn
