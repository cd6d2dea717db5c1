#include "test/testing/generated/prepared_case.h"

#include <cmath>
#include <set>

#include "partitiontuner/graph/visit_type.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/generated/case_lines.h"
#include "test/testing/generated/noise.h"

namespace pt::testing {
namespace {

bool IsFinite(const Tensor& tensor) {
  return VisitType(tensor.type(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      for (const T& x : tensor.values<T>()) {
        if (!std::isfinite(NumberOf<double>(x))) return false;
      }
    }
    return true;
  });
}

struct Judged {
  PreparedCase prepared;
  std::vector<bool> is_comparable;  // by output
};

Result<Judged> Judge(const std::string& text) {
  Judged judged;
  PreparedCase& prepared = judged.prepared;
  PT_ASSIGN(prepared.drawn, ReadCase(text));
  const Graph& graph = prepared.drawn.graph;
  PT_ASSIGN(prepared.values, EvaluateGraph(graph, prepared.drawn.inputs));
  prepared.expected = OutputsOf(graph, prepared.values);
  PT_ASSIGN(const std::vector<bool> steady,
            SteadyValues(graph, prepared.drawn.inputs, prepared.values, MathMode::kFp32));
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    judged.is_comparable.push_back(steady[graph.outputs()[i].index()] && IsFinite(prepared.expected[i]));
  }
  return judged;
}

}  // namespace

Result<PreparedCase> Prepare(const std::string& text) {
  PT_ASSIGN(Judged judged, Judge(text));
  for (const bool is_comparable : judged.is_comparable) {
    if (!is_comparable) {
      return MakeError(ErrorCode::kUnsupported, "test.unsteady", "an output cannot be compared");
    }
  }
  return std::move(judged.prepared);
}

std::string WithSteadyOutputs(const std::string& text) {
  const Result<Judged> judged = Judge(text);
  if (!judged.ok()) return "";
  std::vector<Line> lines = LinesOf(text);
  size_t output = 0;
  bool any = false;
  std::vector<Line> kept;
  for (Line& line : lines) {
    if (line.kind == Line::Kind::kOutput && !judged->is_comparable[output++]) continue;
    any = any || line.kind == Line::Kind::kOutput;
    kept.push_back(std::move(line));
  }
  return any ? TextOf(WithoutDead(std::move(kept))) : "";
}

}  // namespace pt::testing
