// Fast kernels of recurrent operators where the conformance suite does not go: values at the edges,
// tensors that lie as slices, cores that run at once, refusals.
#include <catch2/catch_get_random_seed.hpp>
#include <cmath>
#include <limits>
#include <thread>

#include "lib/backend/recurrent/steps.h"
#include "lib/exec/team.h"
#include "partitiontuner/backend/devices.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The libraries of this build with fast kernels for these operators.
std::vector<std::unique_ptr<Library>> FastLibraries() {
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name == "onednn" || row.name == "recurrent") libraries.push_back(row.make());
  }
  return libraries;
}

Tensor FloatsOf(const std::vector<int64_t>& dims, const std::vector<float>& elements) {
  return Tensor::Float32(dims, elements);
}

}  // namespace

// Gates saturate to the same values, and what is no number stays none. R is zero: every step stands alone.
TEST_CASE("Recurrent, GatesSaturateLikeTheReference", "[backend]") {
  const std::vector<float> edges{0.0F,   -0.0F,   1e-30F, -1e-30F, 0.5F, -5.0F, 20.0F, -20.0F,
                                 100.0F, -100.0F, 1e30F,  -1e30F,  1.0F, kInf,  -kInf, kNan};
  const Tensor x = FloatsOf({16, 1, 1}, edges);
  const Platform platform = MakeTestPlatform(2, false);
  for (const char* node : {"LSTM(x, w4, r4)", "GRU(x, w3, r3)", "GRU(x, w3, r3) linear_before_reset=1",
                           "RNN(x, w1, r1)", "RNN(x, w1, r1) activations=[\"Relu\"]"}) {
    INFO(node);
    const Graph graph = TypedText(
        "input x float32[16,1,1]\nconst w4 float32[1,76,1] ones\nconst r4 float32[1,76,19] zeros\n"
        "const w3 float32[1,57,1] ones\nconst r3 float32[1,57,19] zeros\n"
        "const w1 float32[1,19,1] ones\nconst r1 float32[1,19,19] zeros\ny = " +
        std::string(node) + " hidden_size=19\noutput y\n");
    const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *MakeReferenceLibrary(), {&x, 1});
    REQUIRE(expected.ok());
    const std::span<const float> want = (*expected)[0].values<float>();
    for (const std::unique_ptr<Library>& library : FastLibraries()) {
      for (const Candidate& candidate : library->Candidates(graph, platform, Precision())) {
        INFO(candidate.library << " " << candidate.variant);
        const Result<std::vector<Tensor>> results = RunCandidate(graph, platform, *library, candidate, {&x, 1});
        REQUIRE(results.ok());
        const std::span<const float> got = (*results)[0].values<float>();
        for (size_t i = 0; i < want.size(); ++i) {
          INFO("step " << i / 19 << ": " << got[i] << " instead of " << want[i]);
          const bool same = std::isnan(want[i]) ? std::isnan(got[i])
                            : std::isinf(want[i])
                                ? got[i] == want[i]
                                : std::fabs(got[i] - want[i]) <= 2e-6F * std::max(1.0F, std::fabs(want[i]));
          CHECK(same);
        }
      }
    }
  }
}

TEST_CASE("Recurrent, TensorsMayBeSlicesOfBiggerOnes", "[backend]") {
  const Platform platform = MakeTestPlatform(3, false);
  for (const char* layout : {"0", "1"}) {
    const bool batch_first = *layout == '1';
    const std::string x = batch_first ? "[3,5,4]" : "[5,3,4]", state = batch_first ? "[3,2,21]" : "[2,3,21]";
    for (const char* cell : {"LSTM", "GRU", "RNN"}) {
      const bool lstm = *cell == 'L';
      const std::string rows = std::to_string(lstm ? 84 : *cell == 'G' ? 63 : 21);
      const std::string text =
          "input x float32" + x + "\nconst w float32[2," + rows + ",4] random 1\nconst r float32[2," + rows +
          ",21] random 2\ninput h0 float32" + state + "\ninput c0 float32" + state + "\ny, h" + (lstm ? ", c" : "") +
          " = " + cell + "(x, w, r, _, _, h0" + (lstm ? ", c0" : "") +
          ") hidden_size=21 direction=\"bidirectional\" layout=" + layout +
          (*cell == 'G' ? " linear_before_reset=1" : "") + "\noutput y\noutput h\n" + (lstm ? "output c\n" : "");
      INFO(text);
      const Graph graph = TypedText(text);
      std::vector<Tensor> inputs;
      for (ValueId id : graph.inputs()) {
        inputs.push_back(RandomTensor(DataType::kFloat32, *graph.value(id).type.static_dims(), 7 + inputs.size()));
      }
      const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *MakeReferenceLibrary(), inputs);
      REQUIRE(expected.ok());
      inputs.resize(GroupInputs(graph, std::vector{NodeId(0U)}).size());
      for (const std::unique_ptr<Library>& library : FastLibraries()) {
        const std::vector<Candidate> candidates = library->Candidates(graph, platform, Precision());
        CHECK(!candidates.empty());
        for (const Candidate& candidate : candidates) {
          const uint32_t width = platform.unit_class(candidate.unit_class).cores;
          INFO(candidate.library << " " << candidate.variant << " on " << width);
          const Result<std::vector<Tensor>> results = RunOnSlices(graph, platform, *library, candidate, inputs, width);
          INFO((results.ok() ? "" : ToString(results.error())));
          REQUIRE(results.ok());
          for (size_t i = 0; i < expected->size(); ++i) CHECK(Difference((*results)[i], (*expected)[i], 1e-5) == "");
        }
      }
    }
  }
}

// Cores that meet after every step see each other's units; whoever comes late has its share done by another.
TEST_CASE("Recurrent, CoresThatRunAtOnceComputeTheSame", "[backend]") {
  const Platform platform = MakeTestPlatform(3, false);
  const Graph graph = TypedText(
      "input x float32[40,2,20]\nconst w float32[2,400,20] random 1\nconst r float32[2,400,100] random 2\n"
      "y, h, c = LSTM(x, w, r) hidden_size=100 direction=\"bidirectional\"\noutput y\noutput h\noutput c\n");
  const Tensor x = RandomTensor(DataType::kFloat32, {40, 2, 20}, 5);
  for (const std::unique_ptr<Library>& library : FastLibraries()) {
    for (const Candidate& candidate : library->Candidates(graph, platform, Precision())) {
      const uint32_t width = platform.unit_class(candidate.unit_class).cores;
      INFO(candidate.library << " " << candidate.variant << " on " << width);
      const Result<std::vector<Tensor>> alone = RunCandidate(graph, platform, *library, candidate, {&x, 1}, width);
      REQUIRE(alone.ok());
      WorkerTeam team(width, true);
      std::vector<std::thread> helpers;
      for (uint32_t i = 1; i < width; ++i) helpers.emplace_back([&team, i] { team.Help(i); });
      REQUIRE(team.Gather());
      const std::unique_ptr<DeviceDriver> driver = MakeHostDriver(DeviceId(0U));
      const std::unique_ptr<WeightStore> weights = MakeWeightStore();
      CompileContext context{platform, *driver, &team, *weights};
      const auto layout = [](const std::vector<int64_t>& dims) {
        return DenseLayout(DataType::kFloat32, dims, RowMajor(dims.size())).value();
      };
      std::vector<float> y(40 * 2 * 2 * 100), h(2 * 2 * 100), c(2 * 2 * 100),
          in(x.values<float>().begin(), x.values<float>().end());
      const std::vector<TensorView> read{{in.data(), layout({40, 2, 20})}};
      const std::vector<TensorView> made{
          {y.data(), layout({40, 2, 2, 100})}, {h.data(), layout({2, 2, 100})}, {c.data(), layout({2, 2, 100})}};
      const std::vector<TensorLayout> in_layouts{read[0].layout},
          out_layouts{made[0].layout, made[1].layout, made[2].layout};
      const auto kernel = library->Compile(graph, candidate, in_layouts, out_layouts, context);
      REQUIRE(kernel.ok());
      const auto scratch = driver->Allocate((*kernel)->scratch_bytes() + 1);
      REQUIRE(scratch.ok());
      const auto bound = (*kernel)->Bind(SlotsOf(read), SlotsOf(made),
                                         {static_cast<std::byte*>((*scratch)->data()), (*kernel)->scratch_bytes()});
      REQUIRE(bound.ok());
      const std::unique_ptr<Stream> stream = MakeHostStream(team);
      for (int run = 0; run < 20; ++run) {
        std::fill(y.begin(), y.end(), kNan);
        REQUIRE((*bound)->Enqueue(StaticRun(*stream)).ok());
        CHECK(Difference(FloatsOf({40, 2, 2, 100}, y), (*alone)[0], 1e-6) == "");
        CHECK(Difference(FloatsOf({2, 2, 100}, h), (*alone)[1], 1e-6) == "");
        CHECK(Difference(FloatsOf({2, 2, 100}, c), (*alone)[2], 1e-6) == "");
      }
      team.Release();
      for (std::thread& helper : helpers) helper.join();
    }
  }
}

// ---- sequences of different lengths ----

struct Sequences {
  const char* cell;
  const char* direction;
  const char* layout;
  std::vector<int32_t> lengths;
  bool constant = false;
};

Graph GraphOf(const Sequences& s) {
  const bool batch_first = *s.layout == '1', lstm = *s.cell == 'L';
  const std::string batch = std::to_string(s.lengths.size()), d = *s.direction == 'b' ? "2" : "1";
  const std::string x = batch_first ? "[" + batch + ",6,4]" : "[6," + batch + ",4]";
  const std::string state = batch_first ? "[" + batch + "," + d + ",21]" : "[" + d + "," + batch + ",21]";
  const std::string rows = std::to_string(lstm ? 84 : *s.cell == 'G' ? 63 : 21);
  std::string lengths = "input l int32[" + batch + "]\n";
  if (s.constant) {
    lengths = "const l int32[" + batch + "] ints";
    for (const int32_t length : s.lengths) lengths += " " + std::to_string(length);
    lengths += "\n";
  }
  return TypedText("input x float32" + x + "\nconst w float32[" + d + "," + rows + ",4] random 1\nconst r float32[" +
                   d + "," + rows + ",21] random 2\n" + lengths + "input h0 float32" + state + "\ninput c0 float32" +
                   state + "\ny, h" + (lstm ? ", c" : "") + " = " + s.cell + "(x, w, r, _, l, h0" +
                   (lstm ? ", c0" : "") + ") hidden_size=21 direction=\"" + s.direction + "\" layout=" + s.layout +
                   (*s.cell == 'G' ? " linear_before_reset=1" : "") + "\noutput y\noutput h\n" +
                   (lstm ? "output c\n" : ""));
}

std::vector<Tensor> InputsOf(const Graph& graph, const Sequences& s) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    inputs.push_back(type.type == DataType::kInt32
                         ? Tensor::Of<int32_t>(DataType::kInt32, *type.static_dims(), s.lengths)
                         : RandomTensor(DataType::kFloat32, *type.static_dims(), 7 + inputs.size()));
  }
  return inputs;
}

std::unique_ptr<Library> OwnLibrary() {
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name == "recurrent") return row.make();
  }
  SKIP("this build has no own recurrent kernels");
  return nullptr;
}

void CheckSequences(const Sequences& s) {
  const Platform platform = MakeTestPlatform(3, false);
  const Graph graph = GraphOf(s);
  std::vector<Tensor> inputs = InputsOf(graph, s);
  const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *MakeReferenceLibrary(), inputs);
  REQUIRE(expected.ok());
  const std::unique_ptr<Library> library = OwnLibrary();
  std::vector<Tensor> own;
  for (const ValueId id : GroupInputs(graph, std::vector{NodeId(0U)})) {
    own.push_back(inputs[static_cast<size_t>(std::ranges::find(graph.inputs(), id) - graph.inputs().begin())]);
  }
  const std::vector<Candidate> candidates = library->Candidates(graph, platform, Precision());
  CHECK(!candidates.empty());
  for (const Candidate& candidate : candidates) {
    const uint32_t width = platform.unit_class(candidate.unit_class).cores;
    INFO(candidate.variant << " on " << width);
    for (const bool slices : {false, true}) {
      const Result<std::vector<Tensor>> results = slices
                                                      ? RunOnSlices(graph, platform, *library, candidate, own, width)
                                                      : RunCandidate(graph, platform, *library, candidate, own, width);
      INFO((results.ok() ? "" : ToString(results.error())));
      REQUIRE(results.ok());
      for (size_t i = 0; i < expected->size(); ++i) CHECK(Difference((*results)[i], (*expected)[i], 1e-5) == "");
    }
  }
}

TEST_CASE("Recurrent, SequencesOfAnyLengthsEqualTheReference", "[backend]") {
  const std::vector<std::vector<int32_t>> lengths = {{6}, {3}, {0}, {6, 4, 4, 1, 0}, {0, 1, 6, 2, 6}, {2, 2, 2}};
  for (const char* cell : {"LSTM", "GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (const char* layout : {"0", "1"}) {
        for (const std::vector<int32_t>& given : lengths) {
          for (const bool constant : {false, true}) {
            INFO(cell << " " << direction << ", layout " << layout << ", " << given.size() << " sequences");
            CheckSequences({cell, direction, layout, given, constant});
          }
        }
      }
    }
  }
}

TEST_CASE("Recurrent, ALengthThatNoSequenceHasIsAnError", "[backend]") {
  const Platform platform = MakeTestPlatform(1, false);
  const std::unique_ptr<Library> library = OwnLibrary();
  for (const int32_t length : {7, -1}) {
    const Sequences s{"LSTM", "forward", "0", {6, length}};
    const Graph graph = GraphOf(s);
    const std::vector<Tensor> inputs = InputsOf(graph, s);
    std::vector<Tensor> own;
    for (const ValueId id : GroupInputs(graph, std::vector{NodeId(0U)})) {
      own.push_back(inputs[static_cast<size_t>(std::ranges::find(graph.inputs(), id) - graph.inputs().begin())]);
    }
    const std::vector<Candidate> candidates = library->Candidates(graph, platform, Precision());
    REQUIRE(!candidates.empty());
    const auto results = RunCandidate(graph, platform, *library, candidates[0], own, 1);
    REQUIRE(!results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Recurrent, OneDnnTakesFullSequencesAlone", "[backend]") {
  const Platform platform = MakeTestPlatform(1, false);
  for (const std::unique_ptr<Library>& library : FastLibraries()) {
    if (library->name() != "onednn") continue;
    for (const bool constant : {false, true}) {
      const Graph graph = GraphOf({"LSTM", "forward", "0", {6, 3}, constant});
      CHECK(library->WhyUnsupported(graph, NodeId(0U)) ==
            std::optional(std::string("LSTM: sequence_lens may hold other lengths than the full one")));
    }
    CHECK(!library->WhyUnsupported(GraphOf({"LSTM", "forward", "0", {6, 6}, true}), NodeId(0U)).has_value());
  }
}

TEST_CASE("Recurrent, WhatFastKernelsCannotRunIsRefusedWithTheReason", "[backend]") {
  const Platform platform = MakeTestPlatform(2, false);
  const auto check = [&](const std::string& text, const std::string& reason) {
    INFO(text);
    const Graph graph = TypedText(text);
    for (const std::unique_ptr<Library>& library : FastLibraries()) {
      CHECK(library->Candidates(graph, platform, Precision()).empty());
      CHECK(library->WhyUnsupported(graph, NodeId(0U)) == std::optional("LSTM: " + reason));
    }
  };
  const std::string head =
      "input x float32[5,2,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n";
  const std::string tail = " hidden_size=4\noutput y\n";
  check(head + "y = LSTM(x, w, r) clip=3.0" + tail, "it clips");
  check(head + "y = LSTM(x, w, r) input_forget=1" + tail, "it couples the input and forget gates");
  check(head + "y = LSTM(x, w, r) activations=[\"Sigmoid\",\"Tanh\",\"Relu\"]" + tail,
        "activation Relu is not the usual one");
  check(head + "input l int64[2]\ny = LSTM(x, w, r, _, l)" + tail,
        "sequence_lens is not one int32 an entry of the batch");
  check(head + "input b float32[1,32]\ny = LSTM(x, w, r, b)" + tail, "B is not constant");
  check("input x float32[5,2,3]\ninput w float32[1,16,3]\nconst r float32[1,16,4] random 2\ny = LSTM(x, w, r)" + tail,
        "W is not constant");
  check(
      "input x float32[0,2,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n"
      "y = LSTM(x, w, r)" +
          tail,
      "a dim is zero or too large");
}

}  // namespace pt::testing
