#include "partitiontuner/backend/libraries.h"

#include <iterator>

#include "partitiontuner/candidate/device_calls.h"

namespace pt {
namespace {

void Append(std::vector<Candidate> more, std::vector<Candidate>& candidates) {
  candidates.insert(candidates.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::span<const LibraryRow> BuiltInLibraries() {
  static const std::vector<LibraryRow> rows = [] {
    std::vector<LibraryRow> all;
    for (const Backend& backend : BuiltInBackends()) {
      all.insert(all.end(), backend.libraries.begin(), backend.libraries.end());
    }
    return all;
  }();
  return rows;
}

Precision ModesOf(const Platform& platform, std::span<const std::unique_ptr<Library>> libraries) {
  Precision all;
  for (const std::unique_ptr<Library>& library : libraries) {
    const Precision own = library->Modes(platform);
    for (MathMode mode : kMathModes) {
      if (own.allows(mode)) all = all.with(mode);
    }
  }
  return all;
}

std::vector<Candidate> EnumerateCandidates(const Graph& graph, const Platform& platform,
                                           std::span<const std::unique_ptr<Library>> libraries,
                                           const Precision& precision) {
  std::vector<Candidate> candidates;
  for (const std::unique_ptr<Library>& library : libraries) {
    Append(library->Candidates(graph, platform, precision), candidates);
  }
  // Agnostic operators follow what the others proposed; they do not see each other's proposals.
  std::vector<Candidate> agnostic;
  for (const std::unique_ptr<Library>& library : libraries) {
    Append(library->AgnosticCandidates(graph, platform, candidates), agnostic);
  }
  Append(std::move(agnostic), candidates);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return !IsWithin(candidate, precision) || WhyNoCall(graph, platform, candidate).has_value();
  });
  return candidates;
}

}  // namespace pt
