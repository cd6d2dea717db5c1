// Nodes as a graph of cuDNN's: convolutions with what follows them, pooling, normalisations and attention.
#pragma once

#include <vector>

#include "plugins/cuda/dnn.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// What a constant of the model becomes on its way to the device.
enum class DnnContent : uint8_t {
  kAsItIs,
  kChannelsLast,  // filters whose channels lie innermost
  kScale,         // BatchNormalization's scale / sqrt(variance + epsilon), in the place of its scale
  kShift,         // and bias - mean * that, in the place of its bias
  kZeros,         // a bias that the model lacks and cuDNN's kernels want, in the place of the filters
};

// Where a bound tensor of the graph comes from.
struct DnnSource {
  uint32_t argument = 0;  // of the site: its inputs first, then its outputs
  DnnContent content = DnnContent::kAsItIs;
};

struct DnnSite {
  DnnGraph graph;
  std::vector<DnnSource> sources;  // one for each of graph.bound
};

// The nodes as one graph, on the site's layouts; kUnsupported with the reason where they are none. One of
//   Conv or ConvTranspose; behind it one Add of a tensor of the result's dims, one Add of a number a channel, and one
//     activation (Relu, LeakyRelu, Clip from 0, Sigmoid, Tanh, Elu, Gelu, Swish, spelled out or not)
//   MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool
//   BatchNormalization of constants, and a Relu or Clip behind it
//   LayerNormalization, RMSNormalization, InstanceNormalization
//   attention (attention.h), in 16 bits, causal or not, with at most one mask: numbers that are constant and finite
Result<DnnSite> MakeDnnSite(const CudaSite& site, MathMode math);

// What a source's constant holds on the device, in float32; the graph says what it is stored as there.
Result<Tensor> ContentOf(const CudaSite& site, const DnnSource& source);

}  // namespace pt::cuda
