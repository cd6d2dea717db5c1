// The sizes that a model is loaded with against those that the reference library makes, over grids of attributes: where
// they differ, a valid node is refused, or planned with memory of another size.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>
#include <span>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/onnx/shape_grids.h"
#include "test/testing/evaluate_graph.h"

namespace pt::testing::shape_sweep_test {
namespace {

// The text with the first {a|b|c} as each of its parts, and so on.
void Expand(const std::string& text, std::vector<std::string>& to) {
  const size_t open = text.find('{'), close = text.find('}', open);
  if (open == std::string::npos) {
    to.push_back(text);
    return;
  }
  for (size_t begin = open + 1; begin <= close;) {
    const size_t end = std::min(text.find('|', begin), close);
    Expand(text.substr(0, open) + text.substr(begin, end - begin) + text.substr(close + 1), to);
    begin = end + 1;
  }
}

// The graph whose outputs are what the last line makes.
Graph GraphOf(const std::string& text) {
  std::string names = text.substr(text.rfind('\n') + 1);
  names.resize(names.find('='));
  std::string outputs;
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    std::string name = names.substr(begin, end - begin);
    std::erase(name, ' ');
    if (name != "_") outputs += "\noutput " + name;
    begin = end + 1;
  }
  Result<Graph> graph = ParseGraph(text + outputs);
  INFO((graph.ok() ? "" : graph.error().message));
  REQUIRE(graph.ok());
  return std::move(*graph);
}

bool Contradicts(const ValueType& inferred, const Tensor& made) {
  if (!inferred.ranked) return false;
  if (inferred.dims.size() != made.dims().size()) return true;
  for (size_t d = 0; d < inferred.dims.size(); ++d) {
    if (inferred.dims[d].known() && inferred.dims[d].value != made.dims()[d]) return true;
  }
  return false;
}

// Of inputs whose first dims, up to so many, are not known: what is inferred all the same must hold for every number.
Graph WithOpenInputs(const Graph& graph, size_t most) {
  GraphBuilder builder(graph);
  for (const ValueId id : graph.inputs()) {
    std::vector<Dim>& dims = builder.value(id).type.dims;
    for (size_t d = 0; d < std::min(dims.size(), most); ++d) dims[d] = {-1, graph.value(id).name + std::to_string(d)};
  }
  return builder.Build().value();
}

struct Count {
  int cases = 0, refused = 0, open = 0, contradictions = 0;
};

void CheckCase(const std::string& text, bool may_be_open, Count& count) {
  CAPTURE(text);
  const Graph graph = GraphOf(text);
  const Result<Graph> inferred = InferShapes(graph);
  REQUIRE(inferred.ok());
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    const auto bytes = static_cast<size_t>(TensorByteCount(type.type, *type.static_dims()).value());
    inputs.push_back(Tensor::FromBytes(type.type, *type.static_dims(), std::string(bytes, '\0')).value());
  }
  const Result<std::vector<Tensor>> made = EvaluateGraph(graph, inputs);
  ++count.cases;
  if (!made.ok()) {
    ++count.refused;
    return;
  }
  const Status accepted = CheckOperators(*inferred);
  INFO((accepted.ok() ? "" : accepted.error().message));
  CHECK(accepted.ok());
  for (const ValueId id : graph.outputs()) {
    const ValueType& type = inferred->value(id).type;
    const Tensor& tensor = (*made)[id.index()];
    if (!type.is_static()) ++count.open;
    CHECK((may_be_open || type.is_static()));
    for (const size_t most : {size_t{1}, size_t{8}}) {
      const ValueType partly = InferShapes(WithOpenInputs(graph, most)).value().value(id).type;
      if (Contradicts(partly, tensor))
        FAIL_CHECK("inferred " << ToString(partly) << " of open dims, made "
                               << ToString(StaticType(tensor.type(), tensor.dims())));
    }
    if (!Contradicts(type, tensor)) continue;
    ++count.contradictions;
    FAIL_CHECK("inferred " << ToString(type) << ", made " << ToString(StaticType(tensor.type(), tensor.dims())));
  }
}

using Counts = std::map<std::string_view, Count>;

// Of each row so many cases at most, from all over the grid.
Counts Sweep(std::span<const ShapeGrid> grids, size_t most_of_a_row) {
  constexpr size_t kPrime = 7919;  // larger than any part of a grid
  Counts counts;
  for (const ShapeGrid& grid : grids) {
    std::vector<std::string> cases;
    Expand(std::string(grid.text), cases);
    Count& count = counts[grid.op];
    const int ran = count.cases - count.refused;
    for (size_t i = 0; i < std::min(cases.size(), most_of_a_row); ++i)
      CheckCase(cases[i * kPrime % cases.size()], grid.open, count);
    CAPTURE(grid.text);
    CHECK(count.cases - count.refused > ran);
  }
  return counts;
}

// The table of docs/shapes.md.
void Print(const Counts& counts) {
  for (const auto& [op, c] : counts) {
    std::printf("%-28s %6d cases, %5d refused, %5d outputs left open, %5d contradictions\n", std::string(op).c_str(),
                c.cases, c.refused, c.open, c.contradictions);
  }
}

constexpr size_t kFew = 40, kAll = 1'000'000;

TEST_CASE("Shapes, OfWindowsAreThoseThatKernelsMake", "[onnx]") { Sweep(kWindowGrids, kFew); }
TEST_CASE("Shapes, OfResizedImagesAreThoseThatKernelsMake", "[onnx]") { Sweep(kResizeGrids, kFew); }
TEST_CASE("Shapes, OfMovedTensorsAreThoseThatKernelsMake", "[onnx]") { Sweep(kMovementGrids, kFew); }
TEST_CASE("Shapes, OfReductionsAreThoseThatKernelsMake", "[onnx]") { Sweep(kReductionGrids, kFew); }
TEST_CASE("Shapes, OfProductsAreThoseThatKernelsMake", "[onnx]") { Sweep(kProductGrids, kFew); }
TEST_CASE("Shapes, OfSequencesAreThoseThatKernelsMake", "[onnx]") { Sweep(kSequenceGrids, kFew); }
TEST_CASE("Shapes, ThatAreWorkedOutAreThoseThatKernelsMake", "[onnx]") { Sweep(kComputedGrids, kFew); }

TEST_CASE("Shapes, OfAllGridsAreThoseThatKernelsMake", "[onnx][slow]") {
  for (const std::span<const ShapeGrid> grids :
       {std::span<const ShapeGrid>(kWindowGrids), std::span<const ShapeGrid>(kResizeGrids),
        std::span<const ShapeGrid>(kMovementGrids), std::span<const ShapeGrid>(kReductionGrids),
        std::span<const ShapeGrid>(kProductGrids), std::span<const ShapeGrid>(kSequenceGrids),
        std::span<const ShapeGrid>(kComputedGrids)}) {
    Print(Sweep(grids, kAll));
  }
}

}  // namespace
}  // namespace pt::testing::shape_sweep_test
