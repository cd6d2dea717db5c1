// Models that contradict the definitions of their operators, one row a fault.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"

namespace pt::check_operators_test {
namespace {

std::string FaultOf(const std::string& text) {
  const Result<Graph> graph = ParseGraph(text);
  INFO(text << (graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  const Status status = CheckOperators(InferShapes(*graph).value());
  if (status.ok()) return {};
  CHECK(status.error().code == ErrorCode::kInvalidInput);
  return status.error().message + " [" + status.error().node + "]";
}

struct Row {
  const char* operands;  // inputs and constants
  const char* node;      // the node that makes y
  const char* mention;   // what the message must say
};

const Row kFaults[] = {
    // Bias, weights, groups.
    {"input x float32[1,3,8,8]\nconst w float32[4,3,3,3] zeros\nconst b float32[5] zeros\n", "Conv(x, w, b)",
     "dims [5] of the bias are wrong; expected [4]"},
    {"input x float32[1,3,8,8]\nconst w float32[4,3,3,3] zeros\nconst b float32[4,1] zeros\n", "Conv(x, w, b)",
     "dims [4,1] of the bias are wrong; expected [4]"},
    {"input x float32[1,3,8,8]\nconst w float32[4,2,3,3] zeros\n", "Conv(x, w)", "weights of dims [4,2,3,3]"},
    {"input x float32[1,4,8,8]\nconst w float32[5,2,3,3] zeros\n", "Conv(x, w) group=2", "in 2 groups"},
    {"input x float32[1,4,8,8]\nconst w float32[4,4,3,3] zeros\n", "Conv(x, w) group=0", "group 0"},
    {"input x float32[1,4,8,8]\nconst w float32[4,4,3,3] zeros\n", "Conv(x, w) kernel_shape=[2,2]", "kernel_shape"},
    {"input x float32[1,4,8,8]\nconst w float32[4,4,3] zeros\n", "Conv(x, w)", "same rank"},
    {"input x float32[1,4,8,8]\nconst w float32[4,4,3,3] zeros\n", "Conv(x, w) auto_pad=\"SAME\"",
     "unknown auto_pad \"SAME\""},
    {"input x float32[1,4,8,8]\nconst w float32[4,4,3,3] zeros\n", "Conv(x, w) pads=[1,1]", "do not fit"},
    {"input x float32[1,4,8,8]\nconst w float32[4,4,3,3] zeros\n", "Conv(x, w) strides=[0,1]", "positive"},
    {"input x float32[1,4,2,2]\nconst w float32[4,4,3,3] zeros\n", "Conv(x, w)", "does not fit a padded dim of 2"},
    {"input x float32[1,4,8,8]\nconst w float32[4,2,3,3] zeros\nconst b float32[4] zeros\n", "ConvTranspose(x, w, b)",
     "dims [4] of the bias are wrong; expected [2]"},
    {"input x float32[1,4,8,8]\nconst w float32[3,2,3,3] zeros\n", "ConvTranspose(x, w)", "weights of dims [3,2,3,3]"},
    {"input x float32[1,4,8,8]\nconst w float32[4,2,3,3] zeros\n", "ConvTranspose(x, w) group=3", "in 3 groups"},
    {"input x float32[1,4,8,8]\nconst w float32[4,2,3,3] zeros\n", "ConvTranspose(x, w) auto_pad=\"MOST\"",
     "unknown auto_pad \"MOST\""},
    // Products.
    {"input x float32[2,3]\nconst w float32[4,5] zeros\n", "MatMul(x, w)", "inner dims of [2,3] and [4,5]"},
    {"input x float32[2,2,3]\ninput w float32[3,3,5]\n", "MatMul(x, w)", "do not broadcast"},
    {"input x float32[2,3]\nconst w float32[4,5] zeros\n", "Gemm(x, w)", "inner dims of [2,3] and [4,5]"},
    {"input x float32[2,3]\nconst w float32[3,5] zeros\nconst c float32[4] zeros\n", "Gemm(x, w, c)",
     "C of dims [4] does not broadcast to [2,5]"},
    {"input x float32[2,3]\nconst w float32[3,5] zeros\nconst c float32[4] zeros\n", "Gemm(x, w, c) beta=0.0",
     "C of dims [4] does not broadcast to [2,5]"},
    // Normalisation.
    {"input x float32[1,3,4,4]\nconst s float32[4] zeros\nconst t float32[3] zeros\n",
     "BatchNormalization(x, s, t, t, t)", "dims [4] of input 1 are wrong; expected [3]"},
    {"input x float32[1,3,4,4]\nconst s float32[3] zeros\nconst t float32[1] zeros\n",
     "BatchNormalization(x, s, s, s, t)", "dims [1] of input 4 are wrong; expected [3]"},
    {"input x float32[2,8]\nconst s float32[7] zeros\n", "LayerNormalization(x, s)", "[7]"},
    {"input x float32[2,8]\nconst s float32[8] zeros\nconst t float32[9] zeros\n", "LayerNormalization(x, s, t)",
     "[9]"},
    {"input x float32[2,8]\nconst s float32[8] zeros\n", "LayerNormalization(x, s) axis=2", "axis 2"},
    {"input x float32[1,6,4]\nconst s float32[5] zeros\n", "InstanceNormalization(x, s, s)", "[5]"},
    {"input x float32[1,6,4]\nconst s float32[6] zeros\n", "GroupNormalization(x, s, s) num_groups=4", "4 groups"},
    // Element-wise.
    {"input x float32[2,3]\nconst s float32[4] zeros\n", "PRelu(x, s)", "[4]"},
    {"input x float32[2,3]\nconst s float32[3,1] zeros\n", "PRelu(x, s)", "[3,1]"},
    {"input x float32[2,3]\ninput z float32[3,2]\n", "Add(x, z)", "dims [2,3] and [3,2] do not broadcast"},
    // Recurrence: X [seq 5, batch 2, in 3], hidden 4.
    {"input x float32[5,2,3]\nconst w float32[1,12,3] zeros\nconst r float32[1,16,4] zeros\n",
     "LSTM(x, w, r) hidden_size=4", "dims [1,12,3] of W are wrong; expected [1,16,3]"},
    {"input x float32[5,2,3]\nconst w float32[1,16,3] zeros\nconst r float32[1,16,4] zeros\nconst b float32[1,16] "
     "zeros\n",
     "LSTM(x, w, r, b) hidden_size=4", "dims [1,16] of B are wrong; expected [1,32]"},
    {"input x float32[5,2,3]\nconst w float32[1,12,2] zeros\nconst r float32[1,12,4] zeros\n",
     "GRU(x, w, r) hidden_size=4", "dims [1,12,2] of W are wrong; expected [1,12,3]"},
    {"input x float32[5,2,3]\nconst w float32[1,4,3] zeros\nconst r float32[1,4,4] zeros\n",
     "RNN(x, w, r) hidden_size=4 direction=\"bidirectional\"", "expected [2,4,3]"},
    // Pooling: a window that sees padding only.
    {"input x float32[1,1,8,8]\n", "MaxPool(x) kernel_shape=[3,3] pads=[3,0,0,0]", "smaller than its window of 3"},
    {"input x float32[1,1,8,8]\n", "MaxPool(x) kernel_shape=[3,3] pads=[0,0,0,3]", "smaller than its window of 3"},
    {"input x float32[1,1,8,8]\n", "AveragePool(x) kernel_shape=[2,2] pads=[2,2,2,2]", "smaller than its window of 2"},
    {"input x float32[1,1,8,8]\n", "LpPool(x) kernel_shape=[2,2] pads=[2,2,2,2]", "smaller than its window of 2"},
    {"input x float32[1,1,2]\n", "MaxPool(x) kernel_shape=[2] dilations=[3] pads=[1,1]", "sees nothing"},
    {"input x float32[1,1,8,8]\n", "MaxPool(x) kernel_shape=[3]", "do not fit"},
    {"input x float32[1,1,8,8]\n", "MaxPool(x) kernel_shape=[3,3] auto_pad=\"same\"", "unknown auto_pad \"same\""},
    // Shapes and axes.
    {"input x float32[2,3]\ninput z float32[2,4]\n", "Concat(x, z) axis=0", "[2,4]"},
    {"input x float32[2,3]\n", "Transpose(x) perm=[0,0]", "perm"},
    {"input x float32[2,3]\n", "Softmax(x) axis=2", "axis 2"},
    {"input x float32[2,3]\nconst s int64[2] ints 4 2\n", "Reshape(x, s)", "Reshape"},
    {"input x float32[2,3]\nconst s int64[1] ints 5\n", "Squeeze(x, s)", "axis 5"},
    {"input x float32[1,5,2,2]\n", "DepthToSpace(x) blocksize=2", "DepthToSpace"},
};

TEST_CASE("CheckOperators, RefusesWhatContradictsADefinition", "[backend]") {
  for (const Row& row : kFaults) {
    const std::string fault = FaultOf(std::string(row.operands) + "y = " + row.node + "\noutput y\n");
    INFO(row.node << ": " << fault);
    CHECK(fault.find(row.mention) != std::string::npos);
    CHECK(fault.find(" y (#0)]") != std::string::npos);  // the node
  }
}

TEST_CASE("CheckOperators, PassesOverWhatIsUnknownOrRunsOnlyLater", "[backend]") {
  CHECK(FaultOf("input x float32[1,3,8,8]\nconst w float32[4,3,3,3] zeros\nconst b float32[4] zeros\n"
                "y = Conv(x, w, b) pads=[1,1,1,1]\noutput y\n") == "");
  CHECK(FaultOf("input x float32[1,3,?,?]\nconst w float32[4,2,3,3] zeros\ny = Conv(x, w)\noutput y\n") == "");
  CHECK(FaultOf("opset no.such.domain 1\ninput x float32[3]\ny = no.such.domain.Conv(x)\noutput y\n") == "");
  CHECK(FaultOf("input x float32[1,1,8,8]\ny = MaxPool(x) kernel_shape=[3,3] pads=[2,2,2,2]\noutput y\n") == "");
  CHECK(FaultOf("input x float32[0,1,8,8]\ny = MaxPool(x) kernel_shape=[3,3]\noutput y\n") == "");
}

}  // namespace
}  // namespace pt::check_operators_test
