// What Library answers where a library has nothing to add.
#include <algorithm>
#include <iterator>

#include "partitiontuner/backend/backend.h"

namespace pt {

Precision Library::Modes(const Platform&) const { return Precision(); }

std::vector<Candidate> Library::Candidates(const Graph& graph, const Platform& platform,
                                           const Precision& precision) const {
  std::vector<Candidate> all;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId node(n);
    std::vector<Candidate> ways = CandidatesFor(graph, platform, {&node, 1}, precision);
    all.insert(all.end(), std::make_move_iterator(ways.begin()), std::make_move_iterator(ways.end()));
  }
  return all;
}

std::vector<Candidate> Library::AgnosticCandidates(const Graph&, const Platform&, std::span<const Candidate>) const {
  return {};
}

bool Library::CanReorder(const Platform&, UnitClassId, std::span<const int64_t>, const Form&, const Form&) const {
  return false;
}

Result<std::unique_ptr<Kernel>> Library::CompileReorder(const TensorLayout&, const TensorLayout&,
                                                        CompileContext&) const {
  return MakeError(ErrorCode::kUnsupported, "library.reorder",
                   "the library '" + std::string(name()) + "' reorders nothing");
}

std::optional<int64_t> Library::KnownCost(const Graph&, const Platform&, const Candidate&) const {
  return std::nullopt;
}

Result<Candidate> Library::Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const {
  std::vector<Candidate> ways = CandidatesFor(graph, platform, asked.nodes, Precision({asked.math}));
  const auto found =
      std::find_if(ways.begin(), ways.end(), [&](const Candidate& way) { return IsSameKernel(way, asked); });
  if (found != ways.end()) return std::move(*found);
  return NoSuchCandidate(graph, platform, asked);
}

Error NoSuchCandidate(const Graph& graph, const Platform& platform, const Candidate& asked) {
  const auto layouts = [](const std::vector<Form>& forms) {
    std::string text;
    for (const Form& form : forms) {
      text += (text.empty() ? "" : ", ") + ToString(form.layout) + " " + std::string(DataTypeName(form.storage));
      if (form.quantisation.valid()) text += " quantised " + ToString(form.quantisation);
    }
    return "(" + text + ")";
  };
  Error error =
      MakeError(ErrorCode::kUnsupported, "library.candidate",
                "the library '" + asked.library + "' has no variant '" + asked.variant + "' from " + layouts(asked.in) +
                    " to " + layouts(asked.out) + " in " + std::string(MathModeName(asked.math)) +
                    " of these nodes for " + platform.unit_class(asked.unit_class).name);
  error.node = NodeLabel(graph, asked.nodes.front());
  error.device = asked.library;
  return error;
}

}  // namespace pt
