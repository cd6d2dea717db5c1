// What tests of the CUDA backend share: a host with a fake GPU, or with real ones, and running kernels there.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "plugins/cuda/device.h"
#include "plugins/cuda/libraries.h"
#include "test/cuda/fake_gpu.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

// A host with CUDA devices, of which most tests use the first alone.
struct GpuLab {
  GpuLab(std::shared_ptr<const cuda::Functions> used, Platform found);
  std::unique_ptr<cuda::CudaDriver> MakeDriver() const { return MakeDriver(device); }
  std::unique_ptr<cuda::CudaDriver> MakeDriver(DeviceId id) const;

  std::shared_ptr<const cuda::Functions> functions;
  Platform platform;
  DeviceId device;
};

struct WithFakeGpu {
  FakeGpu gpu;
};

struct CudaLab : WithFakeGpu, GpuLab {
  explicit CudaLab(const FakeGpuOptions& options = {}, uint32_t cores = 2);
};

// Its kernels are watched: what they must not do is a violation (kernel_judge.h).
struct WatchedLab : CudaLab {
  WatchedLab() : CudaLab({.watch_kernels = true}) {}
};

// The same numbers in another type: of float32 and the two 16-bit floats, one is float32.
Tensor Stored(const Tensor& tensor, DataType type);

// body(offset in elements) for every element, in row-major order of its index.
template <typename Body>
void ForEachPlace(const TensorLayout& layout, Body&& body) {
  if (std::ranges::find(layout.dims, 0) != layout.dims.end()) return;
  std::vector<int64_t> index(layout.dims.size(), 0);
  while (true) {
    body(OffsetOf(layout, index));
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == layout.dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// Runs the candidate on a device of its own: inputs (one for each of GroupInputs) go in and results (one for each of
// GroupOutputs) come out dense and row-major; on the device they lie as the candidate wants them. Every tensor lies in
// a buffer of its own, elements_before from where that begins.
Result<std::vector<Tensor>> RunOnCuda(const GpuLab& lab, const Library& library, const Graph& graph,
                                      const Candidate& candidate, std::span<const Tensor> inputs,
                                      uint64_t elements_before = 0);

// The graph of that text (graph_text.h), with all types known.
Graph ParseInferred(const std::string& text);
std::vector<NodeId> AllNodes(const Graph& graph);

// The text of each kernel, prelude included, that the library "cuda" runs the candidate by on dense tensors.
std::vector<std::string> KernelTexts(const Graph& graph, const Candidate& candidate);

// Own kernels of many graphs at once, in all their ways: the compiler is what takes time.
void CompileCases(const CudaLab& lab, const std::vector<std::string>& cases, const Precision& precision = {});

// Random numbers; indices lie within what they index.
std::vector<Tensor> InputsWithinDims(const Graph& graph);
// Of the graph's inputs, those that a group of all nodes reads, in its order.
std::vector<Tensor> AsGroupInputs(const Graph& graph, const std::vector<Tensor>& inputs);

// Checks that all nodes of the graph as one kernel give what the reference library makes of them, on random inputs, in
// every way that the library offers for the precision. What nobody in the graph reads must be an output of it.
void CheckGroup(const GpuLab& lab, const Library& library, const std::string& text, const Precision& precision = {});

}  // namespace pt::testing
