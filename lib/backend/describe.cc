#include <algorithm>

#include "partitiontuner/backend/backend.h"

namespace pt {

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
