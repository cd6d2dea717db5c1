#include "partitiontuner/graph/operators/repetition.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph_text.h"
#include "test/graph/operators/made_node.h"

namespace pt::testing::repetition_test {
namespace {

// One carried value, two sliced inputs and one sliced output.
Node Scan(Attributes attributes) {
  attributes["num_scan_inputs"] = int64_t{2};
  Node node = Made("Scan", std::move(attributes));
  node.inputs = {ValueId(0U), ValueId(1U), ValueId(2U)};
  node.formal_inputs = 3;
  const Graph body = ParseGraph(
                         "input s float32[2]\ninput a float32[2]\ninput b float32[2]\nt = Add(s, a) : float32[2]\n"
                         "o = Add(t, b) : float32[2]\noutput t\noutput o\n")
                         .value();
  node.subgraphs = {{"body", std::make_shared<const Graph>(body), {}}};
  return node;
}

std::string FaultOf(Attributes attributes) {
  const Result<ScanNode> scan = ReadScan(Scan(std::move(attributes)));
  if (scan.ok()) return "";
  CHECK(scan.error().code == ErrorCode::kInvalidInput);
  return scan.error().message;
}

using Ints = std::vector<int64_t>;

TEST_CASE("ReadScan, AxesAndDirectionsAreOneForEachTensorThatIsSliced", "[graph]") {
  CHECK(FaultOf({}) == "");
  CHECK(FaultOf({{"scan_input_axes", Ints{0, 0}}, {"scan_input_directions", Ints{0, 1}}}) == "");
  CHECK(FaultOf({{"scan_output_axes", Ints{0}}, {"scan_output_directions", Ints{1}}}) == "");
  CHECK(FaultOf({{"scan_input_axes", Ints{0}}}) == "Scan: scan_input_axes has 1 values, where 2 tensors are sliced");
  CHECK(FaultOf({{"scan_input_directions", Ints{0, 0, 0}}}) ==
        "Scan: scan_input_directions has 3 values, where 2 tensors are sliced");
  CHECK(FaultOf({{"scan_output_axes", Ints{0, 0}}}) == "Scan: scan_output_axes has 2 values, where 1 tensor is sliced");
  CHECK(FaultOf({{"scan_output_directions", Ints{0, 0}}}) ==
        "Scan: scan_output_directions has 2 values, where 1 tensor is sliced");
}

TEST_CASE("ReadScan, DirectionsAreForwardOrBackward", "[graph]") {
  const ScanNode scan = ReadScan(Scan({{"scan_input_directions", Ints{1, 0}}})).value();
  CHECK(scan.InputSlicing(0).reversed);
  CHECK_FALSE(scan.InputSlicing(1).reversed);
  CHECK(FaultOf({{"scan_input_directions", Ints{0, 2}}}) ==
        "Scan: scan_input_directions has a 2; 0 is forward and 1 is backward");
  CHECK(FaultOf({{"scan_output_directions", Ints{-1}}}) ==
        "Scan: scan_output_directions has a -1; 0 is forward and 1 is backward");
}

}  // namespace
}  // namespace pt::testing::repetition_test
