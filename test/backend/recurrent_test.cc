// Fast kernels of recurrent operators where the conformance suite does not go: values at the edges,
// tensors that lie as slices, cores that run at once, refusals.
#include <catch2/catch_get_random_seed.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "lib/backend/recurrent/steps.h"
#include "lib/exec/team.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/recurrent_node.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::recurrent_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr const char* kFunctions[] = {"Relu",        "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                                      "HardSigmoid", "Elu",    "Softsign",  "Softplus"};

std::unique_ptr<Library> OwnLibrary() {
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name == "recurrent") return row.make();
  }
  FAIL("this build has no recurrent kernels");
  return nullptr;
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
  std::vector<std::string> nodes{"LSTM(x, w4, r4)", "LSTM(x, w4, r4) clip=2.0",
                                 "GRU(x, w3, r3)",  "GRU(x, w3, r3) linear_before_reset=1",
                                 "RNN(x, w1, r1)",  "RNN(x, w1, r1) clip=2.0"};
  for (const char* function : kFunctions)
    nodes.push_back("RNN(x, w1, r1) activations=[\"" + std::string(function) + "\"]");
  const std::unique_ptr<Library> library = OwnLibrary();
  for (const std::string& node : nodes) {
    INFO(node);
    const Graph graph = TypedText(
        "input x float32[16,1,1]\nconst w4 float32[1,76,1] ones\nconst r4 float32[1,76,19] zeros\n"
        "const w3 float32[1,57,1] ones\nconst r3 float32[1,57,19] zeros\n"
        "const w1 float32[1,19,1] ones\nconst r1 float32[1,19,19] zeros\ny = " +
        node + " hidden_size=19\noutput y\n");
    const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *MakeReferenceLibrary(), {&x, 1});
    REQUIRE(expected.ok());
    const std::span<const float> want = (*expected)[0].values<float>();
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

TEST_CASE("Recurrent, TensorsMayBeSlicesOfBiggerOnes", "[backend]") {
  const std::unique_ptr<Library> library = OwnLibrary();
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

// Cores that meet after every step see each other's units; whoever comes late has its share done by another.
void CheckCoresAtOnce(const std::string& cell, size_t gates, const std::string& attributes) {
  const std::unique_ptr<Library> library = OwnLibrary();
  const Platform platform = MakeTestPlatform(3, false);
  const std::string rows = std::to_string(gates * 100);
  const Graph graph =
      TypedText("input x float32[40,2,20]\nconst w float32[2," + rows + ",20] random 1\nconst r float32[2," + rows +
                ",100] random 2\ny, h = " + cell + "(x, w, r) hidden_size=100 direction=\"bidirectional\"" +
                attributes + "\noutput y\noutput h\n");
  const Tensor x = RandomTensor(DataType::kFloat32, {40, 2, 20}, 5);
  for (const Candidate& candidate : library->Candidates(graph, platform, Precision())) {
    const uint32_t width = platform.unit_class(candidate.unit_class).cores;
    INFO(cell << attributes << ", " << candidate.variant << " on " << width);
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
    std::vector<float> y(40 * 2 * 2 * 100), h(2 * 2 * 100), in(x.values<float>().begin(), x.values<float>().end());
    const std::vector<TensorView> read{{in.data(), layout({40, 2, 20})}};
    const std::vector<TensorView> made{{y.data(), layout({40, 2, 2, 100})}, {h.data(), layout({2, 2, 100})}};
    const std::vector<TensorLayout> in_layouts{read[0].layout}, out_layouts{made[0].layout, made[1].layout};
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
    }
    team.Release();
    for (std::thread& helper : helpers) helper.join();
  }
}

TEST_CASE("Recurrent, CoresThatRunAtOnceComputeTheSame", "[backend]") {
  CheckCoresAtOnce("LSTM", 4, "");
  CheckCoresAtOnce("GRU", 3, " linear_before_reset=1");
  CheckCoresAtOnce("GRU", 3, "");  // which meet twice a step
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

// ---- everything that a cell may say ----

constexpr const char* kVariants[] = {
    "",
    " clip=0.4",
    " input_forget=1",
    " input_forget=1 clip=0.3",
    " activations=HardSigmoid,Tanh,Tanh",
    " activations=Sigmoid,Softsign,Relu",
    " activations=HardSigmoid,ScaledTanh,Elu alpha=0.3,0.7,1.5 beta=0.4,0.9",
    " activations=Affine,LeakyRelu,Softplus alpha=0.2,0.1,0.2,0.1 beta=0.4,0.4 clip=1.5",
    " activations=Sigmoid,ThresholdedRelu,Tanh alpha=0.05"};

// " activations=A,B,C alpha=1,2" as attributes of a cell of so many functions for so many directions.
std::string AttributesOf(const std::string& variant, size_t functions, size_t directions) {
  const auto part = [&](const std::string& key) {
    const size_t at = variant.find(" " + key + "=");
    if (at == std::string::npos) return std::string();
    const size_t begin = at + key.size() + 2;
    return variant.substr(begin, variant.find(' ', begin) - begin);
  };
  std::string text;
  for (const char* key : {"clip", "input_forget"}) {
    if (!part(key).empty()) text += std::string(" ") + key + "=" + part(key);
  }
  std::string names;
  std::istringstream list(part("activations"));
  size_t count = 0;
  for (std::string name; count < functions && std::getline(list, name, ','); ++count) {
    names += (names.empty() ? "\"" : ",\"") + name + "\"";
  }
  if (names.empty()) return text;
  text += " activations=[" + names + (directions == 2 ? "," + names : "") + "]";
  for (const char* key : {"alpha", "beta"}) {
    if (!part(key).empty()) text += std::string(" activation_") + key + "=[" + part(key) + "]";
  }
  return text;
}

TEST_CASE("Recurrent, EverythingThatACellMaySayEqualsTheReference", "[backend]") {
  const Platform platform = MakeTestPlatform(3, false);
  const std::unique_ptr<Library> library = OwnLibrary();
  struct Kind {
    const char* op;
    size_t gates, functions;
    const char* attributes;
    bool peepholes;
  };
  const Kind kinds[] = {{"LSTM", 4, 3, "", false},
                        {"LSTM", 4, 3, "", true},
                        {"GRU", 3, 2, "", false},
                        {"GRU", 3, 2, " linear_before_reset=1", false},
                        {"RNN", 1, 1, "", false}};
  for (const Kind& kind : kinds) {
    for (const char* variant : kVariants) {
      for (const char* direction : {"forward", "reverse", "bidirectional"}) {
        const size_t directions = *direction == 'b' ? 2 : 1;
        const std::string d = std::to_string(directions), rows = std::to_string(kind.gates * 21);
        const bool lstm = kind.functions == 3;
        const std::string text =
            "input x float32[6,5,4]\nconst w float32[" + d + "," + rows + ",4] random 1\nconst r float32[" + d + "," +
            rows + ",21] random 2\nconst b float32[" + d + "," + std::to_string(2 * kind.gates * 21) +
            "] random 3\nconst l int32[5] ints 6 4 4 1 0\ninput h0 float32[" + d + ",5,21]\ninput c0 float32[" + d +
            ",5,21]\nconst p float32[" + d + ",63] random 4\ny, h" + (lstm ? ", c" : "") + " = " + kind.op +
            "(x, w, r, b, l, h0" + (lstm ? ", c0" : "") + (kind.peepholes ? ", p" : "") +
            ") hidden_size=21 direction=\"" + direction + "\"" + kind.attributes +
            AttributesOf(variant, kind.functions, directions) + "\noutput y\noutput h\n" + (lstm ? "output c\n" : "");
        INFO(text);
        const Graph graph = TypedText(text);
        std::vector<Tensor> inputs;
        for (const ValueId id : graph.inputs())
          inputs.push_back(RandomTensor(DataType::kFloat32, *graph.value(id).type.static_dims(), 7 + inputs.size()));
        const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *MakeReferenceLibrary(), inputs);
        REQUIRE(expected.ok());
        inputs.resize(GroupInputs(graph, std::vector{NodeId(0U)}).size());
        const std::vector<Candidate> candidates = library->Candidates(graph, platform, Precision());
        CHECK(candidates.size() >= 2);
        for (const Candidate& candidate : candidates) {
          const uint32_t width = platform.unit_class(candidate.unit_class).cores;
          INFO(candidate.variant << " on " << width);
          const auto results = RunCandidate(graph, platform, *library, candidate, inputs, width);
          INFO((results.ok() ? "" : ToString(results.error())));
          REQUIRE(results.ok());
          for (size_t i = 0; i < expected->size(); ++i) CHECK(Difference((*results)[i], (*expected)[i], 1e-5) == "");
        }
      }
    }
  }
}

// For libraries that know the usual cells alone.
TEST_CASE("Recurrent, WhatIsNotUsualIsSaid", "[backend]") {
  const auto why = [](const std::string& call) -> std::string {
    const Graph graph = TypedText(
        "input x float32[5,2,3]\nconst w4 float32[1,16,3] random 1\nconst r4 float32[1,16,4] random 2\n"
        "const w1 float32[1,4,3] random 1\nconst r1 float32[1,4,4] random 2\nconst full int32[2] ints 5 5\n"
        "const short int32[2] ints 5 4\ny = " +
        call + " hidden_size=4\noutput y\n");
    const Result<RecurrentNode> node = ReadRecurrentNode(graph, graph.node(NodeId(0U)));
    REQUIRE(node.ok());
    const Status usual = NeedUsual(*node);
    return usual.ok() ? "" : usual.error().message;
  };
  CHECK(why("LSTM(x, w4, r4)").empty());
  CHECK(why("LSTM(x, w4, r4, _, full) activations=[\"sigmoid\",\"TANH\",\"Tanh\"]").empty());
  CHECK(why("RNN(x, w1, r1) activations=[\"Relu\"]").empty());
  CHECK(why("LSTM(x, w4, r4) clip=3.0") == "it clips");
  CHECK(why("LSTM(x, w4, r4) input_forget=1") == "it couples the input and forget gates");
  CHECK(why("LSTM(x, w4, r4, _, short)") == "sequence_lens may hold other lengths than the full one");
  CHECK(why("LSTM(x, w4, r4) activations=[\"Sigmoid\",\"Tanh\",\"Relu\"]") == "its activations are not the usual ones");
  CHECK(why("RNN(x, w1, r1) activations=[\"Affine\"]") == "its activations are not the usual ones");
}

TEST_CASE("Recurrent, WhatFastKernelsCannotRunIsRefusedWithTheReason", "[backend]") {
  const Platform platform = MakeTestPlatform(2, false);
  const std::unique_ptr<Library> library = OwnLibrary();
  const auto check = [&](const std::string& text, const std::string& reason) {
    INFO(text);
    const Graph graph = TypedText(text);
    CHECK(library->Candidates(graph, platform, Precision()).empty());
    CHECK(library->WhyUnsupported(graph, NodeId(0U)) == std::optional("LSTM: " + reason));
  };
  const std::string head =
      "input x float32[5,2,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n";
  const std::string tail = " hidden_size=4\noutput y\n";
  check(head + "y = LSTM(x, w, r) activations=[\"Sigmoid\",\"Tanh\",\"Gelu\"]" + tail,
        "has the unknown activation \"Gelu\"");
  check(head + "y = LSTM(x, w, r) activations=[\"Sigmoid\",\"Tanh\"]" + tail, "activations do not fit its gates");
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

}  // namespace pt::testing::recurrent_test
