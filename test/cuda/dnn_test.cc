// The library "cudnn" against the reference library, with a cuDNN that computes on the host what its graphs say.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/half.h"
#include "plugins/cuda/dnn_graph.h"
#include "plugins/cuda/dnn_groups.h"
#include "plugins/cuda/dnn_kernel.h"
#include "test/cuda/cuda_machine.h"
#include "test/cuda/dnn_cases.h"

namespace pt::testing::dnn_test {
namespace {

std::string WhyNot(const std::string& text, bool channels_last = false, MathMode math = MathMode::kFp32) {
  const Graph graph = ParseInferred(text);
  const auto site = cuda::DnnDenseSite(graph, AllNodes(graph), channels_last, math);
  if (!site.ok()) return site.error().message;
  const auto made = cuda::MakeDnnSite(*site, math);
  return made.ok() ? "" : made.error().message;
}

// What cuDNN's kernels without tensor cores do not have.
bool IsInTf32Alone(const std::string& text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  return has("LeakyRelu") || has("Gelu") || has("ConvTranspose(x, w, b)");
}

// The same, of row-major images.
bool IsInTf32AloneWhereRowMajor(const std::string& text) {
  return text.find("Swish") != std::string::npos || text.find("= Mul(") != std::string::npos;
}

size_t CountOf(const FakeGpu& gpu, const std::string& call) { return gpu.Count(call); }

constexpr const char* kConvolution =
    "input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\ny = Conv(x, w) pads=[1,1,1,1]\noutput y\n";

}  // namespace

TEST_CASE("CudaDnn, ConvolutionsWithWhatFollowsAgreeWithTheReferenceInBothLayouts", "[cuda]") {
  const std::vector<std::string> cases = DnnConvolutionCases();
  REQUIRE(cases.size() > 30);
  for (const std::string& text : cases) {
    const CudaLab lab;
    // Two engines in two layouts, once more in another mode.
    const size_t exact = IsInTf32Alone(text) ? 0 : IsInTf32AloneWhereRowMajor(text) ? 2 : 4;
    CHECK(CheckDnnGroup(lab, text) == exact);
    for (const MathMode math : {MathMode::kTf32, MathMode::kBf16, MathMode::kFp16}) {
      CHECK(CheckDnnGroup(lab, text, Precision({math})) == exact + 4);
    }
    CHECK(lab.gpu.Violations().empty());
    CHECK(lab.gpu.Alive() == "");
  }
}

TEST_CASE("CudaDnn, PoolingAndNormalisationsAgreeWithTheReference", "[cuda]") {
  for (const std::string& text : DnnOtherCases()) {
    const CudaLab lab;
    const bool rows = text.find("LayerNorm") != std::string::npos || text.find("RMSNorm") != std::string::npos;
    CHECK(CheckDnnGroup(lab, text, Precision({MathMode::kTf32})) == (rows ? 2 : 4));
    for (const MathMode math : {MathMode::kBf16, MathMode::kFp16}) {
      CHECK(CheckDnnGroup(lab, text, Precision({math})) == (rows ? 4 : 8));
    }
    CHECK(lab.gpu.Violations().empty());
  }
}

TEST_CASE("CudaDnn, AttentionInSixteenBitsAgreesWithTheReference", "[cuda]") {
  for (const std::string& text : DnnAttentionCases()) {
    const CudaLab lab;
    CHECK(CheckDnnGroup(lab, text, Precision({MathMode::kTf32})) == 0);
    for (const MathMode math : {MathMode::kBf16, MathMode::kFp16}) {
      CHECK(CheckDnnGroup(lab, text, Precision({math})) == 2);
    }
    CHECK(lab.gpu.Violations().empty());
  }
}

TEST_CASE("CudaDnn, AttentionThatCuDnnDoesNotHaveIsRefusedWithTheReason", "[cuda]") {
  const auto why = [](const std::string& more, const std::string& rest) {
    return WhyNot("input q float32[1,2,64,32]\ninput k float32[1,2,64,32]\ninput v float32[1,2,64,32]\n" + more +
                      "y = Attention(q, k, v" + rest + "\noutput y\n",
                  false, MathMode::kFp16);
  };
  CHECK(why("", ")").empty());
  CHECK(why("", ") softcap=2.0").find("capped") != std::string::npos);
  CHECK(why("", ") left_window_size=3").find("window") != std::string::npos);
  // A query that sees nothing gives zeros, which cuDNN does not promise.
  CHECK(why("input m float32[64,64]\n", ", m)").find("mask") != std::string::npos);
  CHECK(why("input m bool[64,64]\n", ", m)") != "");
  CHECK(why("const m float32[64,64] value -1e9\n", ", m)").find("mask") != std::string::npos);
  CHECK(WhyNot("input q float32[1,2,64,32]\ny = Attention(q, q, q)\noutput y\n").find("16 bits") != std::string::npos);
  // Keys that lie with their depth outermost.
  CHECK(WhyNot("input q float32[2,64,32]\ninput k float32[2,32,64]\ninput v float32[2,64,32]\ns = MatMul(q, k)\n"
               "p = Softmax(s)\ny = MatMul(p, v)\noutput y\n",
               false, MathMode::kFp16)
            .find("pieces") != std::string::npos);
}

TEST_CASE("CudaDnn, WhatFeedsExponentsIsNotRounded", "[cuda]") {
  const CudaLab lab;
  const Graph graph = ParseInferred(
      "input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\np = Conv(x, w)\ny = Softmax(p) axis=1\noutput y\n");
  const NodeId convolution(0u);
  size_t rounded = 0;
  for (const Candidate& candidate :
       cuda::MakeDnnLibrary(lab.functions)
           ->CandidatesFor(graph, lab.platform, {&convolution, 1}, Precision({MathMode::kFp16}))) {
    CHECK(candidate.out[0].storage == DataType::kFloat32);
    rounded += candidate.in[0].storage == DataType::kFloat16 ? 1 : 0;
  }
  CHECK(rounded == 4);
}

TEST_CASE("CudaDnn, SlicesAndUnalignedAddressesAreCopiedWhereTheEngineDoesNotTakeThem", "[cuda]") {
  // Copies are compiled for each shape, so a few of all cases do: a plain and a grouped convolution, one with all that
  // may follow it, one of one dim, pooling, and rows.
  std::vector<std::string> cases = {kConvolution};
  for (const auto& from : {DnnConvolutionCases(), DnnOtherCases()}) {
    for (const std::string& text : from) {
      const bool wanted =
          std::ranges::any_of(std::array{"group=2", "Add(q, z)", "[2,4,12]", "LayerNormalization(x, s, b)\n"},
                              [&](const char* part) { return text.find(part) != std::string::npos; });
      if (wanted) cases.push_back(text);
    }
  }
  cases.push_back(DnnAttentionCases()[0]);
  REQUIRE(cases.size() >= 7);
  for (const DnnPlacement& placement : {DnnPlacement{3, 0}, DnnPlacement{4, 3}}) {
    for (const std::string& text : cases) {
      const CudaLab lab;
      const size_t fewest = text.find("Attention") == std::string::npos ? 4 : 2;  // that has none in fp32
      CHECK(CheckDnnGroup(lab, text, Precision({MathMode::kFp16}), placement) >= fewest);
      CHECK(lab.gpu.Violations().empty());
    }
  }
  // Dense and aligned: nothing is copied.
  const CudaLab lab;
  CheckDnnGroup(lab, kConvolution);
  CHECK(CountOf(lab.gpu, "cuLaunchKernel") == 0);
}

TEST_CASE("CudaDnn, WhatItCannotDoIsRefusedWithTheReason", "[cuda]") {
  const std::string image = "input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\n";
  CHECK(WhyNot("input x float64[1,4,6,6]\nconst w float64[8,4,3,3] random 3\ny = Conv(x, w)\noutput y\n")
            .find("float32") != std::string::npos);
  CHECK(
      WhyNot("input x float32[1,4,6,6]\ny = MaxPool(x) kernel_shape=[2,2] dilations=[2,2]\noutput y\n").find("holes") !=
      std::string::npos);
  CHECK(
      WhyNot("input x float32[0,4,6,6]\nconst w float32[8,4,3,3] random 3\ny = Conv(x, w)\noutput y\n").find("empty") !=
      std::string::npos);
  CHECK(WhyNot("input x float32[1,4,6,6]\ninput w float32[8,4,3,3]\ny = Conv(x, w)\noutput y\n", true) != "");
  CHECK(WhyNot("input x float32[1,4,6,6]\ninput w float32[8,4,3,3]\ny = Conv(x, w)\noutput y\n").empty());
  CHECK(WhyNot(image + "p = Conv(x, w)\nq = Relu(p)\ny = Relu(q)\noutput y\n").find("cannot fuse") !=
        std::string::npos);
  CHECK(WhyNot(image + "p = Conv(x, w)\ny = Add(p, p)\noutput y\n").find("within the group") != std::string::npos);
  CHECK(WhyNot(image + "p = Conv(x, w)\ny = Exp(p)\noutput y\n").find("Exp") != std::string::npos);
  CHECK(WhyNot(image + "input z float32[2,8,4,4]\np = Conv(x, w)\ny = Add(p, z)\noutput y\n") != "");
  CHECK(WhyNot(image + "const a float32[] value -1\np = Conv(x, w)\ny = Clip(p, a)\noutput y\n").find("at 0") !=
        std::string::npos);
  CHECK(WhyNot(image + "p = Conv(x, w)\ny = Gelu(p)\noutput y\n").find("TF32 alone") != std::string::npos);
  CHECK(WhyNot("input x float32[3,4]\ny = Exp(x)\noutput y\n").find("nothing") != std::string::npos);
}

TEST_CASE("CudaDnn, AskingForEnginesIsDoneOnceForEachGraph", "[cuda]") {
  const CudaLab lab;
  const auto library = cuda::MakeDnnLibrary(lab.functions);
  // The same work twice under other names.
  const Graph graph = ParseInferred(
      "input x float32[1,4,6,6]\ninput z float32[1,4,6,6]\nconst w float32[4,4,3,3] random 3\n"
      "const v float32[4,4,3,3] random 4\na = Conv(x, w)\nb = Conv(z, v)\noutput a\noutput b\n");
  const std::vector<Candidate> first = library->Candidates(graph, lab.platform, {});
  CHECK(first.size() == 8);
  const size_t asked = CountOf(lab.gpu, "cudnn");
  CHECK(asked == 2);  // row-major and channels-last
  CHECK(library->Candidates(graph, lab.platform, {}).size() == 8);
  CHECK(CountOf(lab.gpu, "cudnn") == asked);
}

TEST_CASE("CudaDnn, ServesOnlyDevicesThatAreHereAndSaysWhatItIs", "[cuda]") {
  const CudaLab lab;
  const auto library = cuda::MakeDnnLibrary(lab.functions);
  CHECK(library->version().find("cuDNN 9.99.0") != std::string::npos);
  CHECK(library->Serves(lab.platform, lab.device));
  CHECK_FALSE(library->Serves(lab.platform, kHostDevice));
  CHECK(library->Modes(lab.platform).allows(MathMode::kTf32));
  Platform elsewhere = lab.platform;
  elsewhere.devices[lab.device.index()].fingerprint += ", another one";
  CHECK_FALSE(library->Serves(elsewhere, lab.device));
  const Graph graph = ParseInferred(kConvolution);
  CHECK(library->Candidates(graph, elsewhere, {}).empty());
  auto without = std::make_shared<cuda::Functions>(*lab.functions);
  without->dnn = nullptr;
  without->no_dnn = "there is no cuDNN";
  const auto nothing = cuda::MakeDnnLibrary(without);
  CHECK_FALSE(nothing->Serves(lab.platform, lab.device));
  CHECK(nothing->Candidates(graph, lab.platform, {}).empty());
  CHECK(nothing->WhyUnsupported(graph, NodeId(0u)).value_or("").find("cuDNN") != std::string::npos);
}

TEST_CASE("CudaDnn, GroupsAreWhatNobodyElseReads", "[cuda]") {
  const Graph chain = ParseInferred(
      "input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\nconst c float32[8,1,1] random 4\n"
      "p = Conv(x, w)\nq = Add(p, c)\nr = Relu(q)\ny = Relu(r)\noutput y\n");
  CHECK(cuda::DnnGroups(chain) ==
        std::vector<std::vector<NodeId>>{{NodeId(0u), NodeId(1u)}, {NodeId(0u), NodeId(1u), NodeId(2u)}});
  const std::string swish =
      "input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\np = Conv(x, w)\nq = Sigmoid(p)\ny = Mul(p, "
      "q)\noutput y\n";
  CHECK(cuda::DnnGroups(ParseInferred(swish)) ==
        std::vector<std::vector<NodeId>>{{NodeId(0u), NodeId(1u), NodeId(2u)}});
  CHECK(cuda::DnnGroups(ParseInferred(swish + "output q\n")).empty());
  const Graph attention = ParseInferred(DnnAttentionCases().back());
  CHECK(cuda::DnnGroups(attention) == std::vector<std::vector<NodeId>>{AllNodes(attention)});
  const Graph shared = ParseInferred(
      "input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\np = Conv(x, w)\ny = Relu(p)\noutput y\noutput p\n");
  CHECK(cuda::DnnGroups(shared).empty());
}

// cuDNN would attend to the new keys alone.
TEST_CASE("CudaDnn, AttentionWithAPastIsLeftToTheOwnKernel", "[cuda]") {
  const CudaLab lab;
  const auto offers = [&](const std::string& results, const std::string& past) {
    const Graph graph = ParseInferred(
        "input q float32[1,2,5,16]\ninput k float32[1,2,5,16]\ninput v float32[1,2,5,16]\ninput a float32[1,2,7,16]\n"
        "input b float32[1,2,7,16]\n" +
        results + " = Attention(q, k, v" + past + ")\noutput y\n" + (results == "y" ? "" : "output c\noutput d\n"));
    const auto ways = [&](const Library& library) {
      return library.CandidatesFor(graph, lab.platform, AllNodes(graph), Precision({MathMode::kFp16})).size();
    };
    CHECK(ways(*cuda::MakeOwnKernelsLibrary()) > 0);
    return ways(*cuda::MakeDnnLibrary(lab.functions)) > 0;
  };
  CHECK(offers("y", ""));
  CHECK_FALSE(offers("y", ", _, a, b"));
  CHECK_FALSE(offers("y, c, d", ", _, a, b"));
}

TEST_CASE("CudaDnn, EnginesAreNamedByTextsThatCanBeReadBack", "[cuda]") {
  const cuda::DnnEngine engine = {42, {{2, 5}, {10, 0}, {14, -1}}, 77};
  CHECK(ToString(engine) == "engine 42 k2=5 k10=0 k14=-1");
  const auto read = cuda::DnnEngineFromText(ToString(engine));
  REQUIRE(read.has_value());
  CHECK(read->number == 42);
  CHECK(read->knobs == engine.knobs);
  for (const char* broken : {"", "engine", "engine x", "engine 1 ", "engine 1 k2", "engine 1 k2=", "engine 1 k=3",
                             "engine 1 k3=1 k2=1", "engine 1 k2=1 k2=1", "motor 1"}) {
    CHECK_FALSE(cuda::DnnEngineFromText(broken).has_value());
  }
}

TEST_CASE("CudaDnn, LayoutsAreChangedOnTheDevice", "[cuda]") {
  const WatchedLab lab;
  const auto library = cuda::MakeDnnLibrary(lab.functions);
  const UnitClassId unit_class = FindUnitClass(lab.platform, "cuda:0");
  const std::vector<int64_t> dims = {2, 3, 4, 5};
  const Form row = {RowMajor(4), DataType::kFloat32}, last = {ChannelsLast(4), DataType::kFloat32};
  CHECK(library->CanReorder(lab.platform, unit_class, dims, row, last));
  CHECK(library->CanReorder(lab.platform, unit_class, dims, last, row));
  CHECK_FALSE(library->CanReorder(lab.platform, unit_class, dims, row, {RowMajor(4), DataType::kFloat16}));
  CHECK_FALSE(library->CanReorder(lab.platform, unit_class, dims, row, {ChannelBlocked(4, 8), DataType::kFloat32}));
  const auto driver = lab.MakeDriver();
  const auto stream = driver->MakeStream().value();
  const auto weights = MakeWeightStore();
  CompileContext context{lab.platform, *driver, nullptr, *weights};
  const Form half_row = {RowMajor(4), DataType::kFloat16}, half_last = {ChannelsLast(4), DataType::kFloat16},
             brain_row = {RowMajor(4), DataType::kBfloat16};
  CHECK_FALSE(library->CanReorder(lab.platform, unit_class, dims, brain_row, half_last));
  const auto number = [](DataType type, DeviceBuffer& buffer, int64_t at) {  // the fake's memory is the host's
    if (type == DataType::kFloat32) return static_cast<const float*>(buffer.data())[at];
    return ToFloat(static_cast<const Half*>(buffer.data())[at]);
  };
  for (const auto& [from_form, to_form] :
       {std::pair{row, last}, std::pair{last, row}, std::pair{half_row, half_last}, std::pair{half_last, half_row},
        std::pair{row, half_last}, std::pair{half_last, row}}) {
    CHECK(library->CanReorder(lab.platform, unit_class, dims, from_form, to_form));
    const TensorLayout from = DenseLayout(from_form.storage, dims, from_form.layout).value();
    const TensorLayout to = DenseLayout(to_form.storage, dims, to_form.layout).value();
    const auto kernel = library->CompileReorder(from, to, context);
    REQUIRE(kernel.ok());
    const auto a = driver->Allocate(120 * 4).value(), b = driver->Allocate(120 * 4).value();
    const auto staged = driver->AllocateHost(120 * 4).value();
    for (int i = 0; i < 120; ++i) {
      const auto content = static_cast<float>(i);
      if (from.type == DataType::kFloat32) {
        static_cast<float*>(staged->data())[i] = content;
      } else {
        static_cast<Half*>(staged->data())[i] = ToHalf(content);
      }
    }
    const uint64_t bytes = BytesOf(from).value();
    const Status copied =
        driver->EnqueueCopy(*stream, a->data(), staged->data(), bytes, CopyDirection::kToDevice, kHostDevice);
    REQUIRE(copied.ok());
    const TensorView in{a->data(), from}, out{b->data(), to};
    const TensorView *const in_slot = &in, *const out_slot = &out;
    const auto bound = (*kernel)->Bind({&in_slot, 1}, {&out_slot, 1}, {}).value();
    REQUIRE(bound->Enqueue(StaticRun(*stream)).ok());
    REQUIRE(stream->Synchronize(std::chrono::hours(1)).ok());
    size_t wrong = 0;
    std::vector<int64_t> at(4);
    for (at[0] = 0; at[0] < 2; ++at[0]) {
      for (at[1] = 0; at[1] < 3; ++at[1]) {
        for (at[2] = 0; at[2] < 4; ++at[2]) {
          for (at[3] = 0; at[3] < 5; ++at[3]) {
            wrong += number(to.type, *b, OffsetOf(to, at)) != number(from.type, *a, OffsetOf(from, at)) ? 1 : 0;
          }
        }
      }
    }
    CHECK(wrong == 0);
  }
  CHECK(lab.gpu.Violations().empty());
}

}  // namespace pt::testing::dnn_test
