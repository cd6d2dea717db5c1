#include "test/testing/check_case.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/plugin_libraries.h"
#include "test/testing/run_candidate.h"

namespace pt::testing {
namespace {

bool operator==(const Candidate& a, const Candidate& b) {
  return IsSameKernel(a, b) && a.aliases == b.aliases && a.elision == b.elision && a.scratch_bytes == b.scratch_bytes &&
         a.constant_bytes == b.constant_bytes;
}

// Keeps what was packed, as a session with all these kernels would.
class KeepingStore final : public WeightStore {
 public:
  Result<std::shared_ptr<DeviceBuffer>> Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                            uint64_t bytes, const Fill& fill) override {
    PT_ASSIGN(std::shared_ptr<DeviceBuffer> packed, store_->Get(content, format, device, bytes, fill));
    kept_.push_back(packed);
    return packed;
  }
  uint64_t bytes() const override { return store_->bytes(); }

 private:
  std::unique_ptr<WeightStore> store_ = MakeWeightStore();
  std::vector<std::shared_ptr<DeviceBuffer>> kept_;
};

std::vector<std::unique_ptr<Library>> MakeLibraries() {
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) libraries.push_back(row.make());
  for (const LibraryRow& row : PluginLibraries()) libraries.push_back(row.make());
  return libraries;
}

const Library* Named(const std::vector<std::unique_ptr<Library>>& libraries, const std::string& name) {
  const auto library = std::ranges::find_if(libraries, [&](const auto& l) { return l->name() == name; });
  return library == libraries.end() ? nullptr : library->get();
}

// Empty, or why the candidate's results are wrong.
std::string WrongResult(const Graph& graph, const ValuesOf& values, const Platform& platform, const Library& library,
                        const Candidate& candidate, const std::function<bool(ValueId)>& compares,
                        WeightStore& weights) {
  std::vector<Tensor> inputs;
  for (ValueId id : GroupInputs(graph, candidate.nodes)) inputs.push_back(values.at(id));
  const Result<std::vector<Tensor>> results = RunCandidate(graph, platform, library, candidate, inputs,
                                                           platform.unit_class(candidate.unit_class).cores, &weights);
  if (!results.ok()) return ToString(results.error());
  const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!compares(outputs[i])) continue;
    const double tolerance = RelativeTolerance(candidate.math, graph.value(outputs[i]).type.type);
    std::string difference = Difference((*results)[i], values.at(outputs[i]), std::max(tolerance, 1e-4),
                                        StepTolerance(graph, candidate.nodes, outputs[i]));
    if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
  }
  return "";
}

}  // namespace

Graph LoadCase(const Case& c) {
  const Result<Graph> parsed = ParseGraph(c.graph);
  INFO((parsed.ok() ? "" : ToString(parsed.error())));
  REQUIRE(parsed.ok());
  const Result<Graph> typed = InferShapes(*parsed);
  INFO((typed.ok() ? "" : ToString(typed.error())));
  REQUIRE(typed.ok());
  return *typed;
}

std::vector<Tensor> RandomInputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    inputs.push_back(RandomTensor(graph.value(id).type.type, *graph.value(id).type.static_dims(), 100 + inputs.size()));
  }
  return inputs;
}

std::string Describe(const Graph& graph, const Candidate& candidate) {
  std::string text =
      candidate.library + " " + candidate.variant + " on class " + std::to_string(candidate.unit_class.value) + ":";
  for (NodeId id : candidate.nodes) text += " " + graph.node(id).op;
  for (const Form& form : candidate.in) text += " " + ToString(form.layout);
  text += " ->";
  for (const Form& form : candidate.out) text += " " + ToString(form.layout);
  return text;
}

std::string DescriptionFault(const Graph& graph, const Platform& platform, const Library& library,
                             const Candidate& candidate) {
  Candidate asked = candidate;
  asked.aliases = {{7, 7, Alias::Kind::kRequired}};
  asked.elision = Elision::kViewOfInput;
  asked.scratch_bytes = asked.constant_bytes = 1;
  const Result<Candidate> described = library.Describe(graph, platform, asked);
  if (!described.ok()) return "is not described: " + ToString(described.error());
  if (!(*described == candidate)) return "is described as another one: " + Describe(graph, *described);
  asked.variant += "?";
  const Result<Candidate> unknown = library.Describe(graph, platform, asked);
  if (unknown.ok()) return "describes a variant that it does not offer";
  if (unknown.error().code != ErrorCode::kUnsupported) return "answers with " + ToString(unknown.error());
  return "";
}

void CheckDescription(const Graph& graph, const Platform& platform, const Library& library,
                      const Candidate& candidate) {
  CHECK(DescriptionFault(graph, platform, library, candidate) == "");
}

std::string FirstWrongCandidate(const Graph& graph, const ValuesOf& values, const Platform& platform,
                                const Precision& precision, const std::function<bool(ValueId)>& compares,
                                CheckedCandidates& checked) {
  // One for all: what one candidate packs must not be taken for what another one wants.
  KeepingStore weights;
  const std::vector<std::unique_ptr<Library>> libraries = MakeLibraries();
  const std::vector<Candidate> candidates = EnumerateCandidates(graph, platform, libraries, precision);
  // The libraries that describe a plan are others than those that have offered its candidates, and have compiled
  // nothing yet: oneDNN takes layouts that differ in the strides of dims of one for the same once it has.
  const std::vector<std::unique_ptr<Library>> others = MakeLibraries();
  const auto wrong = [&](const Candidate& candidate, const std::string& why) {
    return why.empty() ? why : Describe(graph, candidate) + ": " + why;
  };
  for (const Candidate& candidate : candidates) {
    const Library* library = Named(others, candidate.library);
    if (library == nullptr) return wrong(candidate, "there is no such library");
    std::string fault = wrong(candidate, DescriptionFault(graph, platform, *library, candidate));
    if (!fault.empty()) return fault;
  }
  for (const Candidate& candidate : candidates) {
    const Library& library = *Named(libraries, candidate.library);
    std::string fault = wrong(candidate, DescriptionFault(graph, platform, library, candidate));
    if (fault.empty()) {
      fault = wrong(candidate, WrongResult(graph, values, platform, library, candidate, compares, weights));
    }
    if (!fault.empty()) return fault;
    ++checked[{candidate.library, candidate.math}];
  }
  return "";
}

void CheckCase(const Case& c, const Platform& platform, const Precision& precision, CheckedCandidates& checked) {
  INFO(c.name);
  const Graph graph = LoadCase(c);
  CheckGraph(graph, RandomInputs(graph), platform, precision, checked);
}

void CheckGraph(const Graph& graph, std::span<const Tensor> given, const Platform& platform, const Precision& precision,
                CheckedCandidates& checked) {
  const std::unique_ptr<Library> oracle = MakeReferenceLibrary();
  std::map<ValueId, Tensor> values;
  const Result<std::vector<Tensor>> expected = RunGraph(graph, platform, *oracle, given, 1, &values);
  INFO((expected.ok() ? "" : ToString(expected.error())));
  REQUIRE(expected.ok());
  CHECK(FirstWrongCandidate(
            graph, values, platform, precision, [](ValueId) { return true; }, checked) == "");
}

}  // namespace pt::testing
