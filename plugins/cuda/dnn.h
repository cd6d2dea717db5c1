// cuDNN as the rest of this plugin sees it: graphs of operations as data, the engines that can run one, and plans bound
// to addresses. dnn_frontend.cc is the one file that sees cuDNN's own headers; tests put a Dnn in its place that
// computes on the host what a graph says.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/support/result.h"

namespace pt::cuda {

class Context;

// Dims are batch, channels, then what is spatial; strides in elements, one for each of them.
struct DnnTensor {
  DataType type = DataType::kFloat32;
  std::vector<int64_t> dims, strides;
};

enum class DnnOperation : uint8_t {
  kConvolution,            // of a tensor and filters [out channels, in channels of a group, spatial…]
  kTransposedConvolution,  // of a tensor and filters [in channels, out channels of a group, spatial…]
  kMaxPool,                // pads are not elements
  kAveragePool,            // by the elements within the tensor
  kAveragePoolWithPads,    // pads count as zeros
  kAdd,                    // the second input may have dims of 1
  kMul,
  kRelu,  // max(x, 0) + slope * min(x, 0), cut off at `most`
  kSigmoid,
  kTanh,
  kElu,           // by alpha
  kGelu,          // by the error function
  kSwish,         // x * sigmoid(alpha * x)
  kLayerNorm,     // over all dims in which the second input, the scale, is larger than 1; the third is the bias
  kRmsNorm,       // the same without mean and bias
  kInstanceNorm,  // over the spatial dims; scale and bias by channel
  // Of queries, keys and values [batch, heads, length, size], whose heads queries may share, and what is added to
  // scores [batch or 1, heads or 1, queries, keys] where there is a fourth input: by alpha; causal where `is_causal`.
  kAttention,
};

struct DnnNode {
  DnnOperation operation = DnnOperation::kAdd;
  std::vector<uint32_t> in;  // indices into DnnGraph::tensors
  uint32_t out = 0;
  // One for each spatial dim. Of pooling: the window's size; of convolutions the filters say it.
  std::vector<int64_t> window, stride, dilation, pads_begin, pads_end;
  float slope = 0, most = 0, alpha = 1, epsilon = 0;
  bool is_cut_off = false;  // kRelu: by `most`
  bool is_causal = false;   // kAttention: query i sees the keys up to the i-th
};

struct DnnGraph {
  // fp32; tf32 where the products' operands may be rounded to that; bf16 or fp16 where they are stored so. Sums are
  // float32 in all of them.
  MathMode math = MathMode::kFp32;
  std::vector<DnnTensor> tensors;
  std::vector<DnnNode> nodes;   // each after those whose results it reads
  std::vector<uint32_t> bound;  // tensors that lie in memory, inputs and results; the others never leave the kernel
  int64_t alignment = 16;       // of every address that they will be bound to, in bytes
};
// Whether something in it multiplies and sums: what a math mode may round.
bool HasProducts(const DnnGraph& graph);
// One line that says all of it: equal for equal graphs, in every process.
std::string ToString(const DnnGraph& graph);

// One way in which cuDNN computes a graph. Number and knobs name the same kernel in every process, as long as the
// version of cuDNN is the same.
struct DnnEngine {
  int64_t number = 0;
  std::vector<std::pair<int64_t, int64_t>> knobs;  // kind and value, by kind
  uint64_t workspace_bytes = 0;
};
std::string ToString(const DnnEngine& engine);                      // "engine 12 k3=1 k10=0", without the workspace
std::optional<DnnEngine> DnnEngineFromText(std::string_view text);  // its inverse

// A graph at fixed addresses. One caller at a time.
class DnnCall {
 public:
  virtual ~DnnCall() = default;
  // The context is current on the calling thread. `stream` is of that context.
  virtual Status Enqueue(CUstream stream) = 0;
};

// A graph made ready for one device. Immutable, thread-safe.
class DnnPlan {
 public:
  virtual ~DnnPlan() = default;
  virtual uint64_t workspace_bytes() const = 0;
  // addresses: one for each of DnnGraph::bound, aligned as the graph says; workspace: of workspace_bytes, 256-byte
  // aligned. The plan outlives its calls.
  virtual Result<std::unique_ptr<DnnCall>> Bind(std::span<const CUdeviceptr> addresses,
                                                CUdeviceptr workspace) const = 0;
};

// cuDNN on one device. Thread-safe.
class DnnDevice {
 public:
  virtual ~DnnDevice() = default;
  // Errors: kUnsupported ("cuda.dnn") when this engine does not run the graph on this device.
  virtual Result<std::shared_ptr<const DnnPlan>> Build(const DnnGraph& graph, const DnnEngine& engine) const = 0;
};

// The library. Thread-safe.
class Dnn {
 public:
  virtual ~Dnn() = default;
  virtual std::string version() const = 0;  // "9.19.0"
  // All that cuDNN wants to know of the driver's device of that number, as text; no context is made.
  virtual Result<std::string> DescribeDevice(int ordinal) const = 0;
  // The engines for the graph on a device of that description, which need not be on this machine: what cuDNN thinks
  // fastest first, each once. None that is less exact than the graph's math says, gives other bits on other runs, or
  // wants more workspace than `most_workspace`. Errors: kUnsupported ("cuda.dnn") with cuDNN's reason where there is
  // none.
  virtual Result<std::vector<DnnEngine>> Engines(const DnnGraph& graph, const std::string& device,
                                                 uint64_t most_workspace) const = 0;
  virtual Result<std::shared_ptr<const DnnDevice>> Open(std::shared_ptr<Context> context) const = 0;
};

// The installed cuDNN, which then stays loaded to the end of the process. name: what the system's loader looks for.
// Errors (kDeviceUnusable): "cuda.no_cudnn" where there is none, with the reason, or where this was built without
// cuDNN; "cuda.old_library" where it is older than 9.8.
Result<std::shared_ptr<const Dnn>> LoadDnn(const std::string& name);

}  // namespace pt::cuda
