#include "partitiontuner/backend/libraries.h"

#include <array>
#include <iterator>

namespace pt {
namespace {

constexpr std::array kLibraries = {
    LibraryRow{"onednn", "oneDNN on host units: blocked layouts, packed weights, fused groups", MakeOneDnnLibrary},
    LibraryRow{"reference", "plain kernels for every operator, the oracle of all others", MakeReferenceLibrary},
    LibraryRow{"simulated", "simulated devices: reference math, times from the platform", MakeSimulatedLibrary},
};

void Append(std::vector<Candidate> more, std::vector<Candidate>& candidates) {
  candidates.insert(candidates.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::span<const LibraryRow> BuiltInLibraries() { return kLibraries; }

std::vector<Candidate> EnumerateCandidates(const Graph& graph, const Platform& platform,
                                           std::span<const std::unique_ptr<Library>> libraries) {
  std::vector<Candidate> candidates;
  for (const std::unique_ptr<Library>& library : libraries) Append(library->Candidates(graph, platform), candidates);
  // Agnostic operators follow what the others proposed; they do not see each other's proposals.
  std::vector<Candidate> agnostic;
  for (const std::unique_ptr<Library>& library : libraries) {
    Append(library->AgnosticCandidates(graph, platform, candidates), agnostic);
  }
  Append(std::move(agnostic), candidates);
  return candidates;
}

}  // namespace pt
