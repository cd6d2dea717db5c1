// A library whose every answer is one that no default gives, to see whether a library around it passes them all on.
#pragma once

#include "partitiontuner/backend/nan.h"

namespace pt::testing {

class TellingLibrary final : public Library, public TellsOfNan {
 public:
  std::string_view name() const override { return "telling"; }
  std::string version() const override { return "told"; }
  bool Serves(const Platform&, DeviceId) const override { return true; }
  std::vector<Candidate> Candidates(const Graph&, const Platform&, const Precision&) const override {
    return Told("a");
  }
  std::vector<Candidate> AgnosticCandidates(const Graph&, const Platform&, std::span<const Candidate>) const override {
    return Told("b");
  }
  std::vector<Candidate> CandidatesFor(const Graph&, const Platform&, std::span<const NodeId>,
                                       const Precision&) const override {
    return Told("c");
  }
  Result<Candidate> Describe(const Graph&, const Platform&, const Candidate&) const override { return Told("d")[0]; }
  std::optional<std::string> WhyUnsupported(const Graph&, NodeId) const override { return "told"; }
  Result<std::unique_ptr<Kernel>> Compile(const Graph&, const Candidate&, std::span<const TensorLayout>,
                                          std::span<const TensorLayout>, CompileContext&) const override {
    return MakeError(ErrorCode::kUnsupported, "telling.compile", "told");
  }
  bool CanReorder(const Platform&, UnitClassId, std::span<const int64_t>, const Form&, const Form&) const override {
    return true;
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout&, const TensorLayout&,
                                                 CompileContext&) const override {
    return MakeError(ErrorCode::kUnsupported, "telling.reorder", "told");
  }
  bool KeepsNan(const Graph&, const Candidate& candidate) const override { return candidate.library == name(); }
  std::optional<int64_t> KnownCost(const Graph&, const Platform&, const Candidate& candidate) const override {
    return candidate.library == name() ? 42 : 0;
  }

 private:
  static std::vector<Candidate> Told(const std::string& variant) {
    Candidate candidate;
    candidate.library = "telling";
    candidate.variant = variant;
    return {candidate};
  }
};

// The questions that the library around a TellingLibrary answers itself, but for name and version. The graph has a
// node; the context is for its first unit class.
inline std::vector<std::string> NotPassedOn(const Library& library, const Graph& graph, const Platform& platform,
                                            CompileContext& context) {
  std::vector<std::string> own;
  const auto expect = [&](bool told, const char* question) {
    if (!told) own.push_back(question);
  };
  const auto is = [](const std::vector<Candidate>& all, const char* variant) {
    return all.size() == 1 && all[0].variant == variant;
  };
  const NodeId node(0u);
  Candidate candidate = RowMajorCandidate(graph, {&node, 1}, "telling");
  candidate.unit_class = UnitClassId(0u);
  const Form form = RowMajorForm(graph.value(graph.node(node).outputs[0]).type);
  const TensorLayout layout;
  expect(library.Serves(platform, kHostDevice), "Serves");
  expect(is(library.Candidates(graph, platform, Precision()), "a"), "Candidates");
  expect(is(library.AgnosticCandidates(graph, platform, {}), "b"), "AgnosticCandidates");
  expect(is(library.CandidatesFor(graph, platform, {&node, 1}, Precision()), "c"), "CandidatesFor");
  const Result<Candidate> described = library.Describe(graph, platform, candidate);
  expect(described.ok() && described->variant == "d", "Describe");
  expect(library.WhyUnsupported(graph, node) == "told", "WhyUnsupported");
  const auto compiled = library.Compile(graph, candidate, {&layout, 1}, {&layout, 1}, context);
  expect(!compiled.ok() && compiled.error().id == "telling.compile", "Compile");
  expect(library.CanReorder(platform, UnitClassId(0u), {}, form, form), "CanReorder");
  const auto reorder = library.CompileReorder(layout, layout, context);
  expect(!reorder.ok() && reorder.error().id == "telling.reorder", "CompileReorder");
  expect(KeepsNan(library, graph, candidate), "KeepsNan");
  expect(library.KnownCost(graph, platform, candidate) == 42, "KnownCost");
  return own;
}

}  // namespace pt::testing
