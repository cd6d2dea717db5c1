// Kernels of the oneDNN library: reorders, packed weights, use from several threads.
#include <algorithm>
#include <cmath>

#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_kernel_test {
namespace {

std::unique_ptr<BoundKernel> Reorder(Lab& lab, Team& team, Buffer& from, Buffer& to) {
  CompileContext context = lab.context(team);
  auto kernel = lab.library().CompileReorder(from.view().layout, to.view().layout, context);
  if (!kernel.ok()) FAIL(ToString(kernel.error()));
  auto bound = (*kernel)->Bind(SlotsOf({&from.view(), 1}), SlotsOf({&to.view(), 1}), {});
  REQUIRE(bound.ok());
  return std::move(*bound);
}

const char* const kNothing = "input x float32[1]\ny = Relu(x)\noutput y\n";

Floats Ramp(size_t count) {
  Floats ramp(count);
  for (size_t i = 0; i < count; ++i) ramp[i] = static_cast<float>(i + 1);
  return ramp;
}

}  // namespace

TEST_CASE("OneDnn, ReordersBetweenAllLayoutsKeepEveryElement", "[backend]") {
  Lab lab(GraphOf(kNothing));
  const std::vector<int64_t> dims{2, 20, 3, 5};
  const Floats ramp = Ramp(600);
  const char* const layouts[] = {"abcd", "acdb", "aBcd8b", "aBcd16b"};
  for (uint32_t width : {1U, 2U}) {
    ThreadTeam team(width);
    for (const char* a : layouts) {
      for (const char* b : layouts) {
        INFO(a << " to " << b << " on " << width);
        const Form from{LayoutFromString(a).value(), DataType::kFloat32},
            to{LayoutFromString(b).value(), DataType::kFloat32};
        CHECK(lab.library().CanReorder(lab.platform(), UnitClassId(0U), dims, from, to));
        Buffer source(lab.device(), DenseLayout(DataType::kFloat32, dims, from.layout).value());
        Buffer result(lab.device(), DenseLayout(DataType::kFloat32, dims, to.layout).value(), 9.0F);
        source.Set(ramp);
        const auto stream = MakeHostStream(team);
        REQUIRE(Reorder(lab, team, source, result)->Enqueue(StaticRun(*stream)).ok());
        CHECK(result.Get() == ramp);
      }
    }
  }
}

TEST_CASE("OneDnn, ReordersReadAndWriteSlicesOfABiggerTensor", "[backend]") {
  Lab lab(GraphOf(kNothing));
  ThreadTeam team(1);
  const std::vector<int64_t> dims{2, 32, 3, 5}, whole{2, 96, 3, 5};
  const Floats ramp = Ramp(960);
  for (const char* text : {"abcd", "acdb", "aBcd16b"}) {
    INFO(text);
    const Layout layout = LayoutFromString(text).value();
    TensorLayout slice = DenseLayout(DataType::kFloat32, whole, layout).value();
    slice.dims = dims;  // the first third of the channels
    Buffer plain(lab.device(), DenseLayout(DataType::kFloat32, dims, RowMajor(4)).value());
    Buffer parent(lab.device(), slice, -1.0F);
    plain.Set(ramp);
    const auto stream = MakeHostStream(team);
    REQUIRE(Reorder(lab, team, plain, parent)->Enqueue(StaticRun(*stream)).ok());
    CHECK(parent.Get() == ramp);
    Buffer back(lab.device(), DenseLayout(DataType::kFloat32, dims, RowMajor(4)).value());
    REQUIRE(Reorder(lab, team, parent, back)->Enqueue(StaticRun(*stream)).ok());
    CHECK(back.Get() == ramp);
    // What lies between the slice's elements belongs to others.
    const auto floats = std::span(parent.floats(), BytesOf(slice).value() / sizeof(float));
    CHECK(std::count(floats.begin(), floats.end(), -1.0F) == static_cast<std::ptrdiff_t>(floats.size() - ramp.size()));
  }
}

TEST_CASE("OneDnn, UnknownReordersAreRefused", "[backend]") {
  Lab lab(GraphOf(kNothing));
  const std::vector<int64_t> dims{2, 20, 3, 5};
  const Form row{RowMajor(4), DataType::kInt64}, last{ChannelsLast(4), DataType::kInt64};
  CHECK_FALSE(lab.library().CanReorder(lab.platform(), UnitClassId(0U), dims, row, last));
  const Form odd{LayoutFromString("aBcd3b").value(), DataType::kFloat32}, plain{RowMajor(4), DataType::kFloat32};
  CHECK_FALSE(lab.library().CanReorder(lab.platform(), UnitClassId(0U), dims, plain, odd));
}

TEST_CASE("OneDnn, EqualWeightsArePackedOnce", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,64,8,8]
const w float32[64,64,3,3] random 2
const v float32[64,64,3,3] random 2
a = Conv(x, w) pads=[1,1,1,1]
b = Conv(a, v) pads=[1,1,1,1]
output b
)"));
  const std::vector<int64_t> dims{1, 64, 8, 8};
  std::vector<std::unique_ptr<Kernel>> kernels;  // packed weights live as long as a kernel uses them
  std::map<std::string, uint64_t> bytes_after;   // by layout and width; two convolutions and more kernels share them
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const Candidate& candidate : lab.CandidatesOf("Conv")) {
      ThreadTeam team(lab.platform().unit_class(candidate.unit_class).cores);
      const TensorLayout in = DenseLayout(DataType::kFloat32, dims, candidate.in[0].layout).value();
      const TensorLayout out = DenseLayout(DataType::kFloat32, dims, candidate.out[0].layout).value();
      CompileContext context = lab.context(team);
      const uint64_t before = lab.weights().bytes();
      auto kernel = lab.library().Compile(lab.graph(), candidate, std::span(&in, 1), std::span(&out, 1), context);
      REQUIRE(kernel.ok());
      kernels.push_back(std::move(*kernel));
      const std::string key = candidate.variant + std::to_string(team.width());
      if (!bytes_after.try_emplace(key, 0).second) CHECK(lab.weights().bytes() == before);
    }
  }
  CHECK(lab.weights().bytes() > 0);
}

TEST_CASE("OneDnn, OneKernelServesManyRunsAtOnce", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,32,12,12]
const w float32[32,32,3,3] random 2
a = Conv(x, w) pads=[1,1,1,1]
b = Relu(a)
output b
)"));
  const Candidate candidate = lab.CandidatesOf("Conv+Relu").front();
  const auto dims = std::vector<int64_t>{1, 32, 12, 12};
  const TensorLayout in = DenseLayout(DataType::kFloat32, dims, candidate.in[0].layout).value();
  const TensorLayout out = DenseLayout(DataType::kFloat32, dims, candidate.out[0].layout).value();
  const auto compiling = MakeSerialTeam(1);
  CompileContext context = lab.context(*compiling);
  auto kernel = lab.library().Compile(lab.graph(), candidate, std::span(&in, 1), std::span(&out, 1), context);
  REQUIRE(kernel.ok());

  constexpr size_t kThreads = 4;
  std::vector<Floats> results(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Buffer source(lab.device(), in), result(lab.device(), out);
      source.Set(lab.Expected(lab.graph().inputs()[0]));
      const TensorView in_view = source.view(), out_view = result.view();
      std::vector<std::byte> scratch(candidate.scratch_bytes);
      auto bound = (*kernel)->Bind(SlotsOf({&in_view, 1}), SlotsOf({&out_view, 1}), scratch);
      if (!bound.ok()) return;
      const auto team = MakeSerialTeam(1);
      const auto stream = MakeHostStream(*team);
      for (int repeat = 0; repeat < 20; ++repeat) {
        if (!(*bound)->Enqueue(StaticRun(*stream)).ok()) return;
      }
      results[t] = result.Get();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Floats& result : results) {
    REQUIRE(result.size() == 32 * 12 * 12);
    CHECK(result == results[0]);
    CHECK(lab.Error(candidate, result) < 2e-5);
  }
}

}  // namespace pt::onednn_lab::onednn_kernel_test
