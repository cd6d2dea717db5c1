// Pad of the reference library against its definition, element by element.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt::reference_pad_test {
namespace {

using Ints = std::vector<int64_t>;

// The graph has no dims of the result: the pads are constant, and say them.
Result<Tensor> Pad(const std::string& mode, const Ints& dims, const Ints& pads) {
  std::string shape, numbers;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    count *= dim;
  }
  for (const int64_t pad : pads) numbers += " " + std::to_string(pad);
  const Result<Graph> graph =
      ParseGraph("input x float32[" + shape + "]\nconst p int64[" + std::to_string(pads.size()) + "] ints" + numbers +
                 "\nconst fill float32[] value -7\ny = Pad(x, p, fill) mode=\"" + mode + "\"\noutput y\n");
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  const Value& p = graph->value(graph->node(NodeId(0U)).inputs[1]);
  const Value& fill = graph->value(graph->node(NodeId(0U)).inputs[2]);
  auto results =
      EvaluateNode(*graph, NodeId(0U), std::vector<Tensor>{Tensor::Float32(dims, values), *p.constant, *fill.constant});
  if (!results.ok()) return std::move(results).error();
  return (*results)[0];
}

// The index in the dim that shows at index `i` of the padded one; nullopt: the constant.
std::optional<int64_t> Source(const std::string& mode, int64_t i, int64_t pad, int64_t dim) {
  int64_t at = i - pad;
  if (at >= 0 && at < dim) return at;
  if (mode == "constant") return std::nullopt;
  if (mode == "edge") return at < 0 ? 0 : dim - 1;
  if (mode == "wrap") return ((at % dim) + dim) % dim;
  while (at < 0 || at >= dim) {  // reflect, as often as it takes
    if (dim == 1) return 0;
    at = at < 0 ? -at : 2 * (dim - 1) - at;
  }
  return at;
}

TEST_CASE("ReferencePad, ShowsWhatItsDefinitionSays", "[backend]") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto between = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 400; ++round) {
    const std::string mode = std::array{"constant", "edge", "wrap", "reflect"}[static_cast<size_t>(between(0, 3))];
    const auto rank = static_cast<size_t>(between(1, 3));
    Ints dims, pads(2 * rank), out;
    for (size_t d = 0; d < rank; ++d) {
      dims.push_back(between(1, 4));
      pads[d] = between(-dims[d], 5);
      pads[rank + d] = between(-dims[d] - std::min<int64_t>(pads[d], 0), 5);  // the rest may be cut off, no more
      out.push_back(dims[d] + pads[d] + pads[rank + d]);
    }
    CAPTURE(mode, dims, pads);
    const Result<Tensor> y = Pad(mode, dims, pads);
    INFO((y.ok() ? "" : ToString(y.error())));
    REQUIRE(y.ok());
    REQUIRE(y->dims() == out);
    const std::span<const float> values = y->values<float>();
    bool right = true;
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), offset = 0, stride = 1;
      bool constant = false;
      for (size_t d = rank; d-- > 0;) {
        const std::optional<int64_t> from = Source(mode, rest % out[d], pads[d], dims[d]);
        rest /= out[d];
        constant = constant || !from;
        offset += from.value_or(0) * stride;
        stride *= dims[d];
      }
      right = right && values[i] == (constant ? -7 : static_cast<float>(offset));
    }
    CHECK(right);
  }
}

TEST_CASE("ReferencePad, PadsAtTheEndsOfTheirTypeAreRefused", "[backend]") {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  for (const char* mode : {"constant", "edge", "wrap", "reflect"}) {
    for (const auto& [begin, end] :
         {std::pair{kMost, -kMost}, std::pair{kLeast, kMost}, std::pair{kMost, kMost}, std::pair{int64_t{1}, kLeast}}) {
      CAPTURE(mode, begin, end);
      const Result<Tensor> y = Pad(mode, {3}, {begin, end});
      REQUIRE_FALSE(y.ok());
      CHECK(y.error().code == ErrorCode::kInvalidInput);
    }
  }
}

}  // namespace
}  // namespace pt::reference_pad_test
