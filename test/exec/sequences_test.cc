// Sequences and optional values in runs: operators, positions, nested graphs, and what a run may hold.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "partitiontuner/engine/verify.h"
#include "test/testing/host_lab.h"

namespace pt::testing::sequences_test {
namespace {

TensorPtr Shared(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }
Tensor Ints(std::vector<int64_t> values) { return Tensor::Int64({std::ssize(values)}, values); }
Tensor One(int64_t value) { return Tensor::Int64({}, {value}); }

Datum SequenceOf(const std::vector<Tensor>& tensors, DataType type = DataType::kInt64) {
  std::vector<TensorPtr> elements;
  for (const Tensor& tensor : tensors) elements.push_back(Shared(tensor));
  return Datum::Sequence(type, std::move(elements)).value();
}

ValueType Kind(std::string other, DataType type = DataType::kInt64) {
  ValueType kind;
  kind.type = type;
  kind.other = std::move(other);
  return kind;
}

std::vector<Datum> Run(Session& session, const std::vector<Datum>& inputs) {
  auto results = RunData(session, inputs);
  if (!results.ok()) FAIL(ToString(results.error()));
  return *std::move(results);
}

std::string ErrorOf(Session& session, const std::vector<Datum>& inputs) {
  const auto results = RunData(session, inputs);
  return results.ok() ? "none" : results.error().message;
}

GraphBuilder Builder() {
  GraphBuilder builder;
  builder.set_opset(21);
  return builder;
}

std::shared_ptr<const Graph> Built(GraphBuilder& builder) {
  Result<Graph> graph = builder.Build();
  if (!graph.ok()) FAIL(ToString(graph.error()));
  return std::make_shared<const Graph>(std::move(graph).value());
}

// for i < trips while condition: s = s + [x], where x is captured; Loop(trips, condition, s).
std::shared_ptr<const Graph> GrowingLoop() {
  GraphBuilder body = Builder(), builder = Builder();
  body.AddInput("i", StaticType(DataType::kInt64, {}));
  const ValueId go_on = body.AddInput("go", StaticType(DataType::kBool, {}));
  const ValueId s = body.AddInput("s", Kind("sequence"));
  const ValueId x = body.AddCaptured("x", StaticType(DataType::kInt64, {2}));
  body.AddOutput(body.AddOp("Identity", {go_on}, StaticType(DataType::kBool, {}), {}, "go_on"));
  body.AddOutput(body.AddOp("SequenceInsert", {s, x}, Kind("sequence"), {}, "longer"));

  const ValueId trips = builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  const ValueId start = builder.AddInput("start", Kind("sequence"));
  const ValueId outer_x = builder.AddInput("x", StaticType(DataType::kInt64, {2}));
  Node node;
  node.op = "Loop";
  node.formal_inputs = 3;
  node.inputs = {trips, ValueId(), start, outer_x};
  node.subgraphs = {{"body", Built(body), {3}}};
  node.outputs = {builder.AddValue("grown", Kind("sequence"))};
  builder.AddOutput(node.outputs[0]);
  builder.AddNode(std::move(node));
  return Typed(builder);
}

}  // namespace

TEST_CASE("Sequences, AreMadeAndTakenApartAgain", "[exec]") {
  const auto seed = GENERATE(range(1U, 4U));
  const bool sequential = GENERATE(false, true);
  CAPTURE(seed, sequential);
  HostLab lab;
  SessionOptions options;
  options.sequential = sequential;
  const auto session = lab.Open(TypedGraph("input a int64[n]\n"
                                           "input b int64[m]\n"
                                           "const last int64[] ints -1\n"
                                           "const first int64[] zeros\n"
                                           "s = SequenceConstruct(a, b)\n"
                                           "t = SequenceInsert(s, b, first)\n"
                                           "e = SequenceErase(t, last)\n"
                                           "x = SequenceAt(e, last)\n"
                                           "n = SequenceLength(t)\n"
                                           "c = ConcatFromSequence(t) axis=-1\n"
                                           "output t\noutput e\noutput x\noutput n\noutput c\n"),
                                seed, options);
  for (int run = 0; run < 3; ++run) {
    const Tensor a = Ints({1, 2, run}), b = Ints({3});
    const std::vector<Datum> results = Run(*session, {a, b});
    CHECK(SameData(results[0], SequenceOf({b, a, b})));
    CHECK(SameData(results[1], SequenceOf({b, a})));
    CHECK(SameBits(results[2].tensor(), a));
    CHECK(SameBits(results[3].tensor(), One(3)));
    CHECK(SameBits(results[4].tensor(), Ints({3, 1, 2, run, 3})));
  }
}

TEST_CASE("Sequences, SplitAndConcatGoAlongAnyAxis", "[exec]") {
  HostLab lab;
  const Tensor x = Tensor::Int64({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto columns = lab.Open(TypedGraph("input x int64[2,3]\n"
                                           "s = SplitToSequence(x) axis=1 keepdims=0\n"
                                           "c = ConcatFromSequence(s) axis=0 new_axis=1\n"
                                           "output s\noutput c\n"),
                                1);
  const std::vector<Datum> turned = Run(*columns, {x});
  CHECK(SameData(turned[0], SequenceOf({Ints({0, 3}), Ints({1, 4}), Ints({2, 5})})));
  CHECK(SameBits(turned[1].tensor(), Tensor::Int64({3, 2}, {0, 3, 1, 4, 2, 5})));

  const auto parts = lab.Open(TypedGraph("input x int64[2,3]\ninput l int64[n]\n"
                                         "s = SplitToSequence(x, l) axis=-1\n"
                                         "c = ConcatFromSequence(s) axis=1\n"
                                         "output s\noutput c\n"),
                              1);
  const std::vector<Datum> uneven = Run(*parts, {x, Ints({2, 0, 1})});
  CHECK(SameData(uneven[0], SequenceOf({Tensor::Int64({2, 2}, {0, 1, 3, 4}), Tensor::Int64({2, 0}, {}),
                                        Tensor::Int64({2, 1}, {2, 5})})));
  CHECK(SameBits(uneven[1].tensor(), x));
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{1, 1}, {2, 2}, {4, -1}, {INT64_MAX, INT64_MAX}}) {
    CHECK(ErrorOf(*parts, {x, Ints(wrong)}).find("its lengths") != std::string::npos);
  }
}

TEST_CASE("Sequences, PositionsOutOfRangeAndWrongTypesAreErrors", "[exec]") {
  HostLab lab;
  const auto at = lab.Open(
      TypedGraph("input s sequence(int64[*])\ninput i int64[]\nx = SequenceAt(s, i) : int64[*]\noutput x\n"), 1);
  const Datum two = SequenceOf({One(7), One(8)});
  CHECK(SameBits(Run(*at, {two, One(-2)})[0].tensor(), One(7)));
  CHECK(SameBits(Run(*at, {two, One(1)})[0].tensor(), One(8)));
  for (const int64_t wrong : {int64_t{2}, int64_t{-3}, INT64_MAX, INT64_MIN}) {
    CHECK(ErrorOf(*at, {two, One(wrong)}).find("does not exist in a sequence of 2 tensors") != std::string::npos);
  }
  CHECK(ErrorOf(*at, {SequenceOf({}), One(0)}).find("does not exist") != std::string::npos);
  CHECK(ErrorOf(*at, {SequenceOf({}, DataType::kFloat32), One(0)}).find("is sequence(int64") != std::string::npos);
  CHECK(ErrorOf(*at, {One(1), One(0)}).find("is sequence(int64") != std::string::npos);

  const auto insert = lab.Open(TypedGraph("input s sequence(int64[*])\ninput i int64[]\nconst x int64[] ints 5\n"
                                          "t = SequenceInsert(s, x, i)\noutput t\n"),
                               1);
  CHECK(SameData(Run(*insert, {two, One(2)})[0], SequenceOf({One(7), One(8), One(5)})));
  CHECK(SameData(Run(*insert, {SequenceOf({}), One(0)})[0], SequenceOf({One(5)})));
  CHECK(ErrorOf(*insert, {two, One(3)}).find("does not exist") != std::string::npos);
  const auto erase = lab.Open(TypedGraph("input s sequence(int64[*])\nt = SequenceErase(s)\noutput t\n"), 1);
  CHECK(SameData(Run(*erase, {two})[0], SequenceOf({One(7)})));
  CHECK(ErrorOf(*erase, {SequenceOf({})}).find("empty sequence") != std::string::npos);
}

TEST_CASE("Sequences, ALoopGrowsThemAsFarAsTheRunMayHold", "[exec]") {
  HostLab lab;
  SessionOptions options;
  options.run_bytes = 1 << 20;
  const auto session = lab.Open(GrowingLoop(), 1, options);
  const Tensor x = Ints({4, 5});
  for (const int64_t trips : {0, 1, 50, 3}) {
    const Datum grown = Run(*session, {One(trips), SequenceOf({One(1)}), x})[0];
    REQUIRE(std::ssize(grown.elements()) == trips + 1);
    CHECK(SameBits(*grown.elements().back(), trips == 0 ? One(1) : x));
  }
  const auto refused = RunData(*session, {One(INT64_MAX), SequenceOf({}), x});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  CHECK(std::ssize(Run(*session, {One(100), SequenceOf({}), x})[0].elements()) == 100);
}

TEST_CASE("Sequences, ARunThatGrowsThemCanBeCancelled", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(GrowingLoop(), 1);
  CancelToken cancel;
  RunOptions options;
  options.cancel = &cancel;
  std::thread canceller([&] { cancel.Cancel(); });
  const auto cancelled = RunData(*session, {One(INT64_MAX), SequenceOf({}), Ints({4, 5})}, options);
  canceller.join();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().id == "run.cancelled");
}

TEST_CASE("Sequences, ConcurrentRunsKeepTheirOwn", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(GrowingLoop(), 1);
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const Tensor x = Ints({static_cast<int64_t>(t), 1});
      for (int64_t run = 0; run < 10; ++run) {
        const auto results = RunData(*session, {One(run + 1), SequenceOf({}), x});
        wrong[t] +=
            !results.ok() || !SameData((*results)[0], SequenceOf(std::vector<Tensor>(static_cast<size_t>(run) + 1, x)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(3));
}

TEST_CASE("Optionals, HoldTensorsSequencesOrNothing", "[exec]") {
  HostLab lab;
  const auto asks = lab.Open(TypedGraph("input o optional_sequence(int64[*])\n"
                                        "h = OptionalHasElement(o)\n"
                                        "same = Identity(o)\n"
                                        "output h\noutput same\n"),
                             1);
  const Datum two = SequenceOf({One(7), Ints({8, 9})});
  for (const Datum& held : {two, Datum(), SequenceOf({})}) {
    const std::vector<Datum> results = Run(*asks, {held});
    CHECK(results[0].tensor().ToInts()[0] == (held.kind() == Datum::Kind::kNothing ? 0 : 1));
    CHECK(SameData(results[1], held));
  }
  CHECK(ErrorOf(*asks, {One(1)}).find("is optional_sequence") != std::string::npos);

  const auto takes = lab.Open(TypedGraph("input o optional(int64[2])\n"
                                         "x = OptionalGetElement(o)\n"
                                         "y = Add(x, x)\n"
                                         "again = Optional(y)\n"
                                         "output y\noutput again\n"),
                              1);
  const std::vector<Datum> doubled = Run(*takes, {Ints({1, 2})});
  CHECK(SameBits(doubled[0].tensor(), Ints({2, 4})));
  CHECK(SameBits(doubled[1].tensor(), Ints({2, 4})));
  CHECK(ErrorOf(*takes, {Datum()}).find("holds nothing") != std::string::npos);
}

}  // namespace pt::testing::sequences_test
