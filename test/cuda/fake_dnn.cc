// cuDNN on the fake GPU: it computes on the host what a graph says, and holds its caller to what cuDNN demands of
// addresses. Of its two engines one takes dense tensors alone, as many of cuDNN's do; the other wants a workspace.
#include "test/cuda/fake_dnn.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "partitiontuner/graph/half.h"
#include "plugins/cuda/context.h"
#include "test/cuda/fake_gpu_state.h"

namespace pt::testing {
namespace {

using cuda::DnnEngine;
using cuda::DnnGraph;
using cuda::DnnNode;
using cuda::DnnOperation;
using cuda::DnnTensor;
using State = std::shared_ptr<FakeGpuState>;
using Lock = std::lock_guard<std::mutex>;
using Dims = std::vector<int64_t>;

constexpr int64_t kDenseOnly = 7, kWithWorkspace = 3;
constexpr uint64_t kWorkspace = 1000;

size_t ExtentOf(const DnnTensor& tensor) {
  int64_t last = 0;
  for (size_t d = 0; d < tensor.dims.size(); ++d) last += (tensor.dims[d] - 1) * tensor.strides[d];
  return static_cast<size_t>(last) + 1;
}

bool IsPacked(const DnnTensor& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims) count *= dim;
  return ExtentOf(tensor) == static_cast<size_t>(count);
}

// Calls body(index) for every index within the dims.
template <typename Body>
void ForEach(const Dims& dims, Body&& body) {
  Dims index(dims.size(), 0);
  while (true) {
    body(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

float NumberAt(DataType type, const std::byte* data, int64_t at) {
  if (type == DataType::kFloat32) return reinterpret_cast<const float*>(data)[at];
  const uint16_t bits = reinterpret_cast<const uint16_t*>(data)[at];
  return type == DataType::kFloat16 ? ToFloat(Half{bits}) : ToFloat(Bfloat16{bits});
}

void SetNumber(DataType type, std::byte* data, int64_t at, float number) {
  if (type == DataType::kFloat32) {
    reinterpret_cast<float*>(data)[at] = number;
  } else {
    reinterpret_cast<uint16_t*>(data)[at] = type == DataType::kFloat16 ? ToHalf(number).bits : ToBfloat16(number).bits;
  }
}

// The graph at addresses, one for each of the bound tensors. Computed in float32; what is bound is rounded at last.
class Evaluation {
 public:
  Evaluation(const DnnGraph& graph, std::vector<std::byte*> bound) : graph_(graph), data_(graph.tensors.size()) {
    for (size_t t = 0; t < data_.size(); ++t) {
      data_[t].assign(ExtentOf(Tensor(static_cast<uint32_t>(t))), std::numeric_limits<float>::quiet_NaN());
    }
    for (size_t i = 0; i < bound.size(); ++i) Exchange(graph.bound[i], bound[i], true);
    for (const DnnNode& node : graph_.nodes) Run(node);
    for (size_t i = 0; i < bound.size(); ++i) {
      const bool is_made = std::ranges::any_of(graph.nodes, [&](const DnnNode& n) { return n.out == graph.bound[i]; });
      if (is_made) Exchange(graph.bound[i], bound[i], false);
    }
  }

 private:
  const DnnTensor& Tensor(uint32_t t) const { return graph_.tensors[t]; }
  int64_t PlaceOf(uint32_t t, const Dims& index) const {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (Tensor(t).dims[d] > 1) at += index[d] * Tensor(t).strides[d];
    }
    return at;
  }
  float& At(uint32_t t, const Dims& index) { return data_[t][static_cast<size_t>(PlaceOf(t, index))]; }

  // From memory, or back.
  void Exchange(uint32_t t, std::byte* memory, bool from) {
    ForEach(Tensor(t).dims, [&](const Dims& index) {
      if (from) {
        At(t, index) = NumberAt(Tensor(t).type, memory, PlaceOf(t, index));
      } else {
        SetNumber(Tensor(t).type, memory, PlaceOf(t, index), At(t, index));
      }
    });
  }

  void Run(const DnnNode& node) {
    switch (node.operation) {
      case DnnOperation::kConvolution:
        return ForEach(Tensor(node.out).dims, [&](const Dims& y) { At(node.out, y) = Convolved(node, y); });
      case DnnOperation::kTransposedConvolution:
        return ConvolveTransposed(node);
      case DnnOperation::kMaxPool:
      case DnnOperation::kAveragePool:
      case DnnOperation::kAveragePoolWithPads:
        return ForEach(Tensor(node.out).dims, [&](const Dims& y) { At(node.out, y) = Pooled(node, y); });
      case DnnOperation::kLayerNorm:
      case DnnOperation::kRmsNorm:
      case DnnOperation::kInstanceNorm:
        return Normalise(node);
      case DnnOperation::kAttention: {
        Dims rows = Tensor(node.out).dims;
        rows[3] = 1;
        return ForEach(rows, [&](const Dims& row) { Attend(node, row); });
      }
      default:
        return ForEach(Tensor(node.out).dims, [&](const Dims& y) { At(node.out, y) = Pointwise(node, y); });
    }
  }

  // The place in the larger image that belongs to a place in the smaller one and one in the window; false: outside.
  static bool Place(const DnnNode& node, const Dims& small, const Dims& window, const Dims& large_dims, Dims& large) {
    for (size_t i = 0; i < node.stride.size(); ++i) {
      const int64_t dilation = node.dilation.empty() ? 1 : node.dilation[i];
      large[i + 2] = small[i + 2] * node.stride[i] - node.pads_begin[i] + window[i] * dilation;
      if (large[i + 2] < 0 || large[i + 2] >= large_dims[i + 2]) return false;
    }
    return true;
  }

  float Convolved(const DnnNode& node, const Dims& y) {
    const Dims &x_dims = Tensor(node.in[0]).dims, &w_dims = Tensor(node.in[1]).dims;
    const int64_t groups = x_dims[1] / w_dims[1], group = y[1] / (Tensor(node.out).dims[1] / groups);
    double sum = 0;
    ForEach(Dims(w_dims.begin() + 1, w_dims.end()), [&](const Dims& place) {
      Dims x(x_dims.size()), w = place;
      x[0] = y[0];
      x[1] = group * w_dims[1] + place[0];
      w.insert(w.begin(), y[1]);
      if (!Place(node, y, Dims(place.begin() + 1, place.end()), x_dims, x)) return;
      sum += static_cast<double>(At(node.in[0], x)) * static_cast<double>(At(node.in[1], w));
    });
    return static_cast<float>(sum);
  }

  void ConvolveTransposed(const DnnNode& node) {
    const Dims &x_dims = Tensor(node.in[0]).dims, &w_dims = Tensor(node.in[1]).dims, &y_dims = Tensor(node.out).dims;
    const int64_t groups = y_dims[1] / w_dims[1], in_group = x_dims[1] / groups;
    ForEach(y_dims, [&](const Dims& y) { At(node.out, y) = 0; });
    ForEach(x_dims, [&](const Dims& x) {
      ForEach(Dims(w_dims.begin() + 1, w_dims.end()), [&](const Dims& place) {
        Dims y(y_dims.size()), w = place;
        y[0] = x[0];
        y[1] = x[1] / in_group * w_dims[1] + place[0];
        w.insert(w.begin(), x[1]);
        if (!Place(node, x, Dims(place.begin() + 1, place.end()), y_dims, y)) return;
        At(node.out, y) += At(node.in[0], x) * At(node.in[1], w);
      });
    });
  }

  float Pooled(const DnnNode& node, const Dims& y) {
    const Dims& x_dims = Tensor(node.in[0]).dims;
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    int64_t inside = 0, all = 0;
    ForEach(node.window, [&](const Dims& place) {
      Dims x = y;
      ++all;
      if (!Place(node, y, place, x_dims, x)) return;
      const auto number = static_cast<double>(At(node.in[0], x));
      ++inside;
      sum += number;
      most = std::max(most, number);
    });
    if (node.operation == DnnOperation::kMaxPool) return static_cast<float>(most);
    return static_cast<float>(sum / static_cast<double>(node.operation == DnnOperation::kAveragePool ? inside : all));
  }

  // Each row of dims where the scale (or, for instances, all but batch and channels) varies.
  void Normalise(const DnnNode& node) {
    const bool instance = node.operation == DnnOperation::kInstanceNorm, rms = node.operation == DnnOperation::kRmsNorm;
    const Dims& dims = Tensor(node.in[0]).dims;
    Dims outer(dims.size(), 1), inner(dims.size(), 1);
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool in_row = instance ? d > 1 : Tensor(node.in[1]).dims[d] > 1;
      (in_row ? inner : outer)[d] = dims[d];
    }
    ForEach(outer, [&](const Dims& row) {
      double sum = 0, squares = 0, count = 0;
      const auto at = [&](const Dims& place) {
        Dims index = row;
        for (size_t d = 0; d < index.size(); ++d) index[d] += place[d];
        return index;
      };
      ForEach(inner, [&](const Dims& place) {
        sum += static_cast<double>(At(node.in[0], at(place)));
        ++count;
      });
      const double mean = rms ? 0 : sum / count;
      ForEach(inner, [&](const Dims& place) {
        squares += std::pow(static_cast<double>(At(node.in[0], at(place))) - mean, 2);
      });
      const double factor = 1 / std::sqrt(squares / count + static_cast<double>(node.epsilon));
      ForEach(inner, [&](const Dims& place) {
        const Dims index = at(place);
        double number = (static_cast<double>(At(node.in[0], index)) - mean) * factor;
        number *= static_cast<double>(At(node.in[1], Parameter(node.in[1], index)));
        if (!rms) number += static_cast<double>(At(node.in[2], Parameter(node.in[2], index)));
        At(node.out, index) = static_cast<float>(number);
      });
    });
  }
  Dims Parameter(uint32_t t, Dims index) const {
    for (size_t d = 0; d < index.size(); ++d) {
      if (Tensor(t).dims[d] == 1) index[d] = 0;
    }
    return index;
  }

  // Row: of the result, with 0 as its last index.
  void Attend(const DnnNode& node, const Dims& row) {
    const int64_t keys = Tensor(node.in[1]).dims[2], depth = Tensor(node.in[1]).dims[3];
    const auto of_keys = [&](uint32_t t, int64_t key, int64_t element) {
      return Dims{row[0], row[1] * Tensor(t).dims[1] / Tensor(node.out).dims[1], key, element};
    };
    std::vector<double> weights;
    double sum = 0;
    for (int64_t key = 0; key < (node.is_causal ? std::min(keys, row[2] + 1) : keys); ++key) {
      double score = 0;
      for (int64_t d = 0; d < depth; ++d) {
        score += static_cast<double>(At(node.in[0], {row[0], row[1], row[2], d})) *
                 static_cast<double>(At(node.in[1], of_keys(node.in[1], key, d)));
      }
      score *= static_cast<double>(node.alpha);
      if (node.in.size() > 3) {
        score += static_cast<double>(At(node.in[3], Parameter(node.in[3], {row[0], row[1], row[2], key})));
      }
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int64_t c = 0; c < Tensor(node.out).dims[3]; ++c) {
      double mixed = 0;
      for (size_t key = 0; key < weights.size(); ++key) {
        mixed += weights[key] * static_cast<double>(At(node.in[2], of_keys(node.in[2], static_cast<int64_t>(key), c)));
      }
      At(node.out, {row[0], row[1], row[2], c}) = static_cast<float>(mixed / sum);
    }
  }

  float Pointwise(const DnnNode& node, const Dims& y) {
    const float x = At(node.in[0], y), z = node.in.size() > 1 ? At(node.in[1], Parameter(node.in[1], y)) : 0.0F;
    switch (node.operation) {
      case DnnOperation::kAdd:
        return x + z;
      case DnnOperation::kMul:
        return x * z;
      case DnnOperation::kSigmoid:
        return 1 / (1 + std::exp(-x));
      case DnnOperation::kTanh:
        return std::tanh(x);
      case DnnOperation::kElu:
        return x > 0 ? x : node.alpha * std::expm1(x);
      case DnnOperation::kGelu:
        return 0.5F * x * (1 + std::erf(x * static_cast<float>(M_SQRT1_2)));
      case DnnOperation::kSwish:
        return x / (1 + std::exp(-node.alpha * x));
      default: {
        const float positive = x > 0 ? x : node.slope * x;
        return node.is_cut_off ? std::min(positive, node.most) : positive;
      }
    }
  }

  const DnnGraph& graph_;
  std::vector<std::vector<float>> data_;  // of each tensor
};

class FakeCall : public cuda::DnnCall {
 public:
  FakeCall(State state, std::shared_ptr<const DnnGraph> graph, std::vector<CUdeviceptr> addresses,
           CUdeviceptr workspace, uint64_t workspace_bytes)
      : state_(std::move(state)),
        graph_(std::move(graph)),
        addresses_(std::move(addresses)),
        workspace_(workspace),
        workspace_bytes_(workspace_bytes) {}

  Status Enqueue(CUstream stream) override {
    const Lock lock(state_->mutex);
    FakeStreamHandle* const on = state_->streams.Find(stream);
    if (on == nullptr ||
        state_->EnterOn(on->device, "cudnnBackendExecute", "stream " + std::to_string(on->number)) != CUDA_SUCCESS) {
      return MakeError(ErrorCode::kRunFailed, "cuda.dnn", "as the fake was told");
    }
    CheckAddresses(on->device);
    FakeDevice* const device = &state_->devices[on->device];  // owns the work
    state_->Submit(*on,
                   [device, graph = graph_, addresses = addresses_, workspace = workspace_, bytes = workspace_bytes_] {
                     if (std::exchange(device->fault_next_kernel, false)) return false;
                     if (bytes > 0)
                       std::memset(reinterpret_cast<void*>(workspace), 0xee, bytes);  // an engine may write all of it
                     std::vector<std::byte*> bound;
                     for (const CUdeviceptr address : addresses) bound.push_back(reinterpret_cast<std::byte*>(address));
                     Evaluation(*graph, std::move(bound));
                     return true;
                   });
    return {};
  }

 private:
  void CheckAddresses(size_t device) const {
    for (size_t i = 0; i < addresses_.size(); ++i) {
      const DnnTensor& tensor = graph_->tensors[graph_->bound[i]];
      const size_t bytes = ExtentOf(tensor) * static_cast<size_t>(BytesOf(tensor.type));
      if (addresses_[i] % static_cast<CUdeviceptr>(graph_->alignment) != 0) {
        state_->Violate("cudnnBackendExecute: an address is not aligned as it was announced");
      }
      if (!state_->Reaches(device, addresses_[i], bytes)) {
        state_->Violate("cudnnBackendExecute: a tensor is not in the device's memory");
      }
    }
    if (workspace_bytes_ > 0 && (workspace_ % 256 != 0 || !state_->Reaches(device, workspace_, workspace_bytes_))) {
      state_->Violate("cudnnBackendExecute: the workspace is not as it was asked for");
    }
  }

  const State state_;
  const std::shared_ptr<const DnnGraph> graph_;
  const std::vector<CUdeviceptr> addresses_;
  const CUdeviceptr workspace_;
  const uint64_t workspace_bytes_;
};

class FakePlan : public cuda::DnnPlan {
 public:
  FakePlan(State state, const DnnGraph& graph, uint64_t workspace_bytes)
      : state_(std::move(state)), graph_(std::make_shared<DnnGraph>(graph)), workspace_bytes_(workspace_bytes) {}

  uint64_t workspace_bytes() const override { return workspace_bytes_; }
  Result<std::unique_ptr<cuda::DnnCall>> Bind(std::span<const CUdeviceptr> addresses,
                                              CUdeviceptr workspace) const override {
    return std::unique_ptr<cuda::DnnCall>(std::make_unique<FakeCall>(
        state_, graph_, std::vector(addresses.begin(), addresses.end()), workspace, workspace_bytes_));
  }

 private:
  const State state_;
  const std::shared_ptr<const DnnGraph> graph_;
  const uint64_t workspace_bytes_;
};

class FakeDevice : public cuda::DnnDevice {
 public:
  explicit FakeDevice(State state) : state_(std::move(state)) {}

  Result<std::shared_ptr<const cuda::DnnPlan>> Build(const DnnGraph& graph, const DnnEngine& engine) const override {
    const bool packed = std::ranges::all_of(graph.bound, [&](uint32_t t) { return IsPacked(graph.tensors[t]); });
    const bool known = engine.number == kWithWorkspace || engine.number == kDenseOnly;
    if (!known || (engine.number == kDenseOnly && !packed)) {
      return MakeError(ErrorCode::kUnsupported, "cuda.dnn", "the fake has no such engine for it");
    }
    return std::shared_ptr<const cuda::DnnPlan>(
        std::make_shared<FakePlan>(state_, graph, engine.number == kWithWorkspace ? kWorkspace : 0));
  }

 private:
  const State state_;
};

class FakeDnn : public cuda::Dnn {
 public:
  explicit FakeDnn(State state) : state_(std::move(state)) {}

  std::string version() const override { return "9.99.0"; }
  Result<std::string> DescribeDevice(int ordinal) const override { return "fake " + std::to_string(ordinal); }
  Result<std::vector<DnnEngine>> Engines(const DnnGraph& graph, const std::string& device,
                                         uint64_t most_workspace) const override {
    const Lock lock(state_->mutex);
    state_->calls.push_back("cudnn heuristics " + device + " " + ToString(graph));
    std::vector<DnnEngine> engines = {{kDenseOnly, {{2, 4}}, 0}};
    if (most_workspace >= kWorkspace) engines.push_back({kWithWorkspace, {}, kWorkspace});
    return engines;
  }
  Result<std::shared_ptr<const cuda::DnnDevice>> Open(std::shared_ptr<cuda::Context>) const override {
    return std::shared_ptr<const cuda::DnnDevice>(std::make_shared<FakeDevice>(state_));
  }

 private:
  const State state_;
};

}  // namespace

std::shared_ptr<const cuda::Dnn> MakeFakeDnn(const std::shared_ptr<FakeGpuState>& state) {
  return std::make_shared<FakeDnn>(state);
}

}  // namespace pt::testing
