// Runs the host library's candidates outside a session, on dense tensors and on slices of bigger ones, and compares
// them with the reference library.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/support/dims_text.h"
#include "test/testing/built_in.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

inline std::unique_ptr<Library> HostLibrary() {
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name == "host") return row.make();
  }
  SKIP("this build has no host library");
  return nullptr;
}

inline Graph TypedText(const std::string& text) {
  Result<Graph> parsed = ParseGraph(text);
  if (!parsed.ok()) FAIL(ToString(parsed.error()) + " in " + text);
  Result<Graph> typed = InferShapes(*parsed);
  if (!typed.ok()) FAIL(ToString(typed.error()) + " in " + text);
  return std::move(*typed);
}

// A tensor as a slice out of the middle of a bigger one, whose other bytes must stay what they are.
class Slice {
 public:
  Slice(DataType type, const std::vector<int64_t>& dims, const Layout& layout)
      : size_(static_cast<size_t>(BytesOf(type))) {
    view_.layout = DenseLayout(type, dims, layout).value();
    int64_t stride = 1;
    for (const Layout::Block& block : layout.blocks) stride *= block.size;
    for (size_t i = dims.size(); i-- > 0;) {
      view_.layout.strides[layout.order[i]] = stride;
      stride *= dims[layout.order[i]] + 2;  // with blocks more than enough
    }
    bytes_.assign((static_cast<size_t>(stride) + 2) * size_ + 64, kFiller);
    view_.data = bytes_.data() + size_;
  }
  const TensorView& view() const { return view_; }
  void Write(const Tensor& tensor) {
    ForEach([&](size_t i, size_t at) { std::memcpy(Data() + at, tensor.bytes().data() + i, size_); });
  }
  Tensor Read() const {
    std::string dense;
    ForEach([&](size_t, size_t at) { dense.append(Data() + at, size_); });
    return Tensor::FromBytes(view_.layout.type, view_.layout.dims, dense).value();
  }
  // Nothing but the slice was written.
  bool IsIntactAround() const {
    std::string rest = bytes_;
    ForEach([&](size_t, size_t at) { std::fill_n(rest.begin() + static_cast<ptrdiff_t>(size_ + at), size_, kFiller); });
    return rest == std::string(bytes_.size(), kFiller);
  }

 private:
  static constexpr char kFiller = 0x5A;
  char* Data() const { return static_cast<char*>(view_.data); }
  template <typename F>
  void ForEach(F f) const {
    const std::vector<int64_t>& dims = view_.layout.dims;
    std::vector<int64_t> index(dims.size(), 0);
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    for (int64_t n = 0; n < count; ++n) {
      f(static_cast<size_t>(n) * size_, static_cast<size_t>(OffsetOf(view_.layout, index)) * size_);
      for (size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d]) break;
        index[d] = 0;
      }
    }
  }

  size_t size_;
  std::string bytes_;
  TensorView view_;
};

// The candidate on slices instead of dense tensors.
inline Result<std::vector<Tensor>> RunOnSlices(const Graph& graph, const Platform& platform, const Library& library,
                                               const Candidate& candidate, std::span<const Tensor> inputs,
                                               uint32_t width) {
  KernelBench bench(platform, width);
  std::vector<Slice> slices;
  for (size_t i = 0; i < inputs.size(); ++i) {
    slices.emplace_back(inputs[i].type(), inputs[i].dims(), candidate.in[i].layout);
    slices.back().Write(inputs[i]);
  }
  const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < made.size(); ++i) {
    const ValueType& type = graph.value(made[i]).type;
    slices.emplace_back(type.type, *type.static_dims(), candidate.out[i].layout);
  }
  std::vector<TensorView> views;
  std::vector<TensorLayout> layouts;
  for (const Slice& slice : slices) {
    views.push_back(slice.view());
    layouts.push_back(slice.view().layout);
  }
  const size_t n = inputs.size();
  PT_ASSIGN(const std::unique_ptr<Kernel> kernel, library.Compile(graph, candidate, std::span(layouts).first(n),
                                                                  std::span(layouts).subspan(n), bench.context));
  PT_CHECK_OK(bench.Run(*kernel, std::span(views).first(n), std::span(views).subspan(n)));
  std::vector<Tensor> results;
  for (size_t i = n; i < slices.size(); ++i) {
    CHECK(slices[i].IsIntactAround());
    results.push_back(slices[i].Read());
  }
  return results;
}

// Every candidate that the host library has for these nodes as one group, on every width, dense and on slices (for
// kernels that take them), against the reference library; the graph's inputs are given in order. FAILs when there is
// none. Returns the layouts of the candidates' first results.
inline std::set<std::string> CheckGroup(const Graph& graph, const std::vector<NodeId>& nodes,
                                        const std::vector<Tensor>& inputs, double tolerance = 1e-5,
                                        bool on_slices = true, int64_t steps = 0) {
  const std::unique_ptr<Library> host = HostLibrary(), reference = MakeReferenceLibrary();
  const Platform platform = MakeTestPlatform(4, false);
  std::map<ValueId, Tensor> values;
  const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *reference, inputs, 1, &values);
  INFO((expected.ok() ? "" : ToString(expected.error())));
  REQUIRE(expected.ok());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  std::vector<Tensor> own;
  for (ValueId id : GroupInputs(graph, nodes)) own.push_back(values.at(id));
  const std::vector<Candidate> candidates = host->CandidatesFor(graph, platform, nodes, Precision());
  INFO(host->WhyUnsupported(graph, NodeId(0U)).value_or(""));
  REQUIRE(!candidates.empty());
  std::set<std::string> layouts;
  for (const Candidate& candidate : candidates) {
    const uint32_t width = platform.unit_class(candidate.unit_class).cores;
    layouts.insert(ToString(candidate.out[0].layout));
    INFO("width " << width << ", result " << ToString(candidate.out[0].layout));
    for (const bool slices : {false, true}) {
      if (slices && !on_slices) continue;
      INFO((slices ? "slices" : "dense"));
      const Result<std::vector<Tensor>> results = slices ? RunOnSlices(graph, platform, *host, candidate, own, width)
                                                         : RunCandidate(graph, platform, *host, candidate, own, width);
      INFO((results.ok() ? "" : ToString(results.error())));
      REQUIRE(results.ok());
      const std::vector<ValueId> made = GroupOutputs(graph, nodes);
      REQUIRE(results->size() == made.size());
      for (size_t i = 0; i < made.size(); ++i) {
        CHECK(Difference((*results)[i], values.at(made[i]), tolerance, steps) == "");
      }
    }
  }
  return layouts;
}

// All nodes of the graph as one group.
inline void CheckAgainstReference(const Graph& graph, const std::vector<Tensor>& inputs, double tolerance = 1e-5,
                                  bool on_slices = true, int64_t steps = 0) {
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  CheckGroup(graph, nodes, inputs, tolerance, on_slices, steps);
}

inline std::vector<Tensor> SeededInputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    inputs.push_back(RandomTensor(type.type, *type.static_dims(), 7 + inputs.size()));
  }
  return inputs;
}

// With seeded content.
inline void CheckText(const std::string& text, double tolerance = 1e-5, bool on_slices = true) {
  INFO(text);
  const Graph graph = TypedText(text);
  CheckAgainstReference(graph, SeededInputs(graph), tolerance, on_slices);
}

}  // namespace pt::testing
