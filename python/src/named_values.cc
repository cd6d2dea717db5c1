#include "named_values.h"

#include <nanobind/stl/string.h>
#include <partitiontuner/support/closest_word.h>

#include <algorithm>
#include <string>
#include <vector>

#include "errors.h"

namespace nb = nanobind;

namespace pt::python {
namespace {

std::vector<std::string> NamesOf(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

// Names that the model does not have.
void CheckNames(const nb::dict& given, const std::vector<std::string>& known, const char* what) {
  for (const auto& [key, value] : given) {
    if (!nb::isinstance<nb::str>(key)) {
      Fail(ErrorCode::kUsage, "python.name", std::string("names of ") + what + "s are str");
    }
    const std::string name = nb::cast<std::string>(key);
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::vector<std::string_view> words(known.begin(), known.end());
    const std::string closest(ClosestWord(name, words));
    Fail(ErrorCode::kInvalidInput, "python.name", std::string("the model has no ") + what + " \"" + name + "\"",
         closest.empty() ? "" : "did you mean \"" + closest + "\"?");
  }
}

}  // namespace

LentValues LendInputs(const Graph& graph, const nb::dict& given, LentValues::Inputs inputs) {
  CheckNames(given, NamesOf(graph, graph.inputs()), "input");
  LentValues values(inputs);
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (!given.contains(value.name.c_str())) {
      Fail(ErrorCode::kInvalidInput, "python.input",
           "the input \"" + value.name + "\" is missing: " + ToString(value.type));
    }
    values.AddInput(value, given[value.name.c_str()]);
  }
  return values;
}

LentValues LendOutputs(const Graph& graph, const nb::dict& given) {
  CheckNames(given, NamesOf(graph, graph.outputs()), "output");
  LentValues values(LentValues::Inputs::kLent);
  for (const ValueId id : graph.outputs()) {
    const Value& value = graph.value(id);
    if (given.contains(value.name.c_str())) {
      values.AddOutput(value, given[value.name.c_str()]);
    } else {
      values.AddOutput(value);
    }
  }
  return values;
}

nb::dict OutputsByName(const Graph& graph, const LentValues& outputs, const RunReport& report) {
  nb::dict results;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    results[graph.value(graph.outputs()[i]).name.c_str()] = outputs.Output(i, report);
  }
  return results;
}

std::optional<std::chrono::nanoseconds> DeadlineOf(std::optional<double> seconds) {
  constexpr double kLongest = 9e9;  // what nanoseconds of 64 bits can hold
  if (!seconds) return std::nullopt;
  if (!(*seconds >= 0)) {
    Fail(ErrorCode::kUsage, "python.deadline", "a deadline is a number of seconds, at least 0, or None");
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(*seconds, kLongest) * 1e9));
}

}  // namespace pt::python
