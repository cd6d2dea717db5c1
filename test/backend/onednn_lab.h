// Runs the oneDNN library's candidates outside a session and compares them with the reference
// library.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"

namespace pt::onednn_lab {

inline Graph GraphOf(std::string_view text) {
  Result<Graph> parsed = ParseGraph(text);
  if (!parsed.ok()) FAIL(ToString(parsed.error()));
  Result<Graph> typed = InferShapes(*parsed);
  if (!typed.ok()) FAIL(ToString(typed.error()));
  return std::move(*typed);
}

// A host with units of one and of two cores.
inline Platform TwoCores() {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "test"});
  platform.unit_classes.push_back({"cpu/1", DeviceId(0U), 1});
  platform.unit_classes.push_back({"cpu/2", DeviceId(0U), 2});
  return platform;
}

// Threads of its own for every call: slow and simple.
class ThreadTeam final : public Team {
 public:
  explicit ThreadTeam(uint32_t width) : width_(width) {}
  uint32_t width() const override { return width_; }
  void ParallelFor(uint32_t n, ParallelBody body) override {
    std::vector<std::thread> helpers;
    auto part = [&](uint32_t first) {
      for (uint32_t i = first; i < n; i += width_) body(i, n);
    };
    for (uint32_t core = 1; core < width_; ++core) helpers.emplace_back(part, core);
    part(0);
    for (std::thread& helper : helpers) helper.join();
  }
  void OnEveryCore(ParallelBody body) override { ParallelFor(width_, body); }

 private:
  uint32_t width_;
};

using Floats = std::vector<float>;
using Index = std::vector<int64_t>;

template <typename F>
void ForEach(const std::vector<int64_t>& dims, F f) {
  Index index(dims.size(), 0);
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  for (int64_t n = 0; n < count; ++n) {
    f(static_cast<size_t>(n), index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

// Elements at their places; whatever lies between them holds `filler`.
class Buffer {
 public:
  Buffer(DeviceDriver& device, TensorLayout layout, float filler = 0) {
    const uint64_t bytes = BytesOf(layout).value();
    buffer_ = std::move(device.Allocate(bytes).value());
    view_ = {buffer_->data(), std::move(layout)};
    std::fill_n(floats(), bytes / sizeof(float), filler);
  }
  void Set(std::span<const float> elements) {
    ForEach(view_.layout.dims,
            [&](size_t n, const Index& index) { floats()[OffsetOf(view_.layout, index)] = elements[n]; });
  }
  Floats Get() {
    Floats elements;
    ForEach(view_.layout.dims,
            [&](size_t, const Index& index) { elements.push_back(floats()[OffsetOf(view_.layout, index)]); });
    return elements;
  }
  const TensorView& view() const { return view_; }
  float* floats() { return static_cast<float*>(buffer_->data()); }

 private:
  TensorView view_;
  std::unique_ptr<DeviceBuffer> buffer_;
};

class Lab {
 public:
  explicit Lab(Graph graph, uint32_t seed = 1) : graph_(std::move(graph)), seed_(seed) { EvaluateAll({}); }
  // With these elements for the first float input; they are repeated as often as it takes.
  Lab(Graph graph, const Floats& first_input) : graph_(std::move(graph)), seed_(1) { EvaluateAll(first_input); }

  const Graph& graph() const { return graph_; }
  const Platform& platform() const { return platform_; }
  const Library& library() const { return *library_; }
  WeightStore& weights() { return *weights_; }
  DeviceDriver& device() { return *device_; }
  CompileContext context(Team& team) { return {platform_, *device_, &team, *weights_, nullptr}; }

  // Of both rounds.
  std::vector<Candidate> AllCandidates() const {
    std::vector<Candidate> all = library_->Candidates(graph_, platform_, Precision());
    for (Candidate& more : library_->AgnosticCandidates(graph_, platform_, all)) all.push_back(std::move(more));
    return all;
  }
  std::vector<Candidate> CandidatesOf(std::string_view operators) const {
    std::vector<Candidate> found;
    for (Candidate& candidate : AllCandidates()) {
      if (OperatorsOf(candidate) == operators) found.push_back(std::move(candidate));
    }
    return found;
  }
  std::string OperatorsOf(const Candidate& candidate) const {
    std::string text;
    for (NodeId node : candidate.nodes) text += (text.empty() ? "" : "+") + graph_.node(node).op;
    return text;
  }

  // The reference library's elements of a value, from random inputs.
  const Floats& Expected(ValueId value) const { return expected_.at(value); }

  // Runs the candidate on the reference's inputs; its output with `filler` around it beforehand.
  Floats Run(const Candidate& candidate, float filler = 0, std::vector<float>* raw = nullptr) {
    ThreadTeam team(platform_.unit_class(candidate.unit_class).cores);
    const auto inputs = GroupInputs(graph_, candidate.nodes), outputs = GroupOutputs(graph_, candidate.nodes);
    REQUIRE(inputs.size() == candidate.in.size());
    REQUIRE(outputs.size() == 1);
    std::vector<TensorLayout> in;
    for (size_t i = 0; i < inputs.size(); ++i) in.push_back(LayoutOf(inputs[i], candidate.in[i]));
    const TensorLayout out = LayoutOf(outputs[0], candidate.out[0]);
    CompileContext compile = context(team);
    auto kernel = library_->Compile(graph_, candidate, in, std::span(&out, 1), compile);
    if (!kernel.ok()) FAIL(OperatorsOf(candidate) << " " << candidate.variant << ": " << ToString(kernel.error()));

    Buffer result(*device_, out, filler);
    std::vector<Buffer> buffers;
    std::vector<TensorView> views;
    for (size_t i = 0; i < inputs.size(); ++i) {
      bool shared = false;
      for (const Alias& alias : candidate.aliases) shared |= alias.kind == Alias::Kind::kRequired && alias.in == i;
      buffers.emplace_back(*device_, in[i]);
      buffers.back().Set(Expected(inputs[i]));
      if (shared) std::memcpy(result.floats(), buffers.back().floats(), BytesOf(in[i]).value());
      views.push_back(shared ? result.view() : buffers.back().view());
    }
    const TensorView out_view = result.view();
    std::unique_ptr<DeviceBuffer> scratch = std::move(device_->Allocate(candidate.scratch_bytes + 64).value());
    auto bound = (*kernel)->Bind(SlotsOf(views), SlotsOf({&out_view, 1}),
                                 {static_cast<std::byte*>(scratch->data()), candidate.scratch_bytes});
    REQUIRE(bound.ok());
    const auto stream = MakeHostStream(team);
    const Status status = (*bound)->Enqueue(StaticRun(*stream));
    if (!status.ok()) FAIL(ToString(status.error()));
    if (raw != nullptr) raw->assign(result.floats(), result.floats() + BytesOf(out).value() / sizeof(float));
    return result.Get();
  }

  // Largest difference from the reference relative to its largest element.
  double Error(const Candidate& candidate, const Floats& got) const {
    const Floats& want = Expected(GroupOutputs(graph_, candidate.nodes)[0]);
    double largest = 1e-30, error = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(want[i])));
      const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
      error = std::max(error, difference == difference ? difference : HUGE_VAL);
    }
    return error / largest;
  }

 private:
  TensorLayout LayoutOf(ValueId value, const Form& form) const {
    return DenseLayout(form.storage, *graph_.value(value).type.static_dims(), form.layout).value();
  }

  void EvaluateAll(const Floats& first_input) {
    std::map<ValueId, Tensor> tensors;
    std::mt19937 random(seed_);
    std::normal_distribution<float> normal;
    for (ValueId input : graph_.inputs()) {
      REQUIRE(graph_.value(input).type.is_static());
      const auto dims = *graph_.value(input).type.static_dims();
      Floats elements;
      std::vector<int64_t> indices;  // small enough for any table
      ForEach(dims, [&](size_t n, const Index&) {
        const bool given = !first_input.empty() && input == graph_.inputs()[0];
        elements.push_back(given ? first_input[n % first_input.size()] : normal(random));
        indices.push_back(static_cast<int64_t>(n % 2));
      });
      const bool floats = graph_.value(input).type.type == DataType::kFloat32;
      tensors.emplace(input, floats ? Tensor::Float32(dims, elements) : Tensor::Int64(dims, indices));
    }
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.node(NodeId(i));
      std::vector<Tensor> in;
      for (ValueId input : node.inputs) {
        if (!input.valid()) {
          in.emplace_back();
        } else {
          in.push_back(graph_.value(input).constant ? *graph_.value(input).constant : tensors.at(input));
        }
      }
      auto out = EvaluateNode(graph_, NodeId(i), in);
      if (!out.ok()) FAIL(NodeLabel(graph_, NodeId(i)) << ": " << ToString(out.error()));
      for (size_t o = 0; o < node.outputs.size() && o < out->size(); ++o) {
        if (node.outputs[o].valid()) tensors.insert_or_assign(node.outputs[o], (*out)[o]);
      }
    }
    for (const auto& [value, tensor] : tensors) {
      if (tensor.type() != DataType::kFloat32) continue;
      expected_.emplace(value, Floats(tensor.values<float>().begin(), tensor.values<float>().end()));
    }
  }

  Graph graph_;
  uint32_t seed_;
  Platform platform_ = TwoCores();
  std::unique_ptr<Library> library_ = MakeOneDnnLibrary();
  std::unique_ptr<DeviceDriver> device_ = MakeHostDriver(DeviceId(0U));
  std::unique_ptr<WeightStore> weights_ = MakeWeightStore();
  std::map<ValueId, Floats> expected_;
};

}  // namespace pt::onednn_lab
