// The built-in libraries, and what all libraries together offer.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "partitiontuner/backend/backends.h"

namespace pt {

// All but the reference library exist only in builds with their backend (CMake's PT_BACKEND_* switches).
std::unique_ptr<Library> MakeReferenceLibrary();  // every operator it knows, one core or more, row-major, the oracle
std::unique_ptr<Library> MakeOneDnnLibrary();     // oneDNN on host units
std::unique_ptr<Library> MakeHostLibrary();       // own vectorised kernels on host units
std::unique_ptr<Library> MakeRecurrentLibrary();  // own kernels for LSTM, GRU and RNN on host units
std::unique_ptr<Library> MakeSimulatedLibrary();  // simulated devices: reference math, times from the platform
// Runs two libraries on the same inputs and compares within tolerance: an error where they differ.
std::unique_ptr<Library> MakeCheckingLibrary(std::unique_ptr<Library> tested, std::unique_ptr<Library> oracle);

// Those of all built-in backends, in order of preference.
std::span<const LibraryRow> BuiltInLibraries();

// All candidates of all libraries that serve the platform, in a stable order (both rounds), in the math modes and the
// storage that `precision` allows: what a library offers beyond that is left out.
std::vector<Candidate> EnumerateCandidates(const Graph& graph, const Platform& platform,
                                           std::span<const std::unique_ptr<Library>> libraries,
                                           const Precision& precision = {});

// Every mode in which some library computes on the platform.
Precision ModesOf(const Platform& platform, std::span<const std::unique_ptr<Library>> libraries);

// Every node against the definition of its operator, as the reference library reads it. Errors (kInvalidInput): the
// first node whose inputs or attributes contradict it, with the dims. What the reference library does not know, and
// nodes whose types are not known before the run, are passed over: whether a library runs them is another question.
Status CheckOperators(const Graph& graph);

// Evaluates one node on constant inputs with the reference library, for folding. kUnsupported when it cannot.
Result<std::vector<Tensor>> EvaluateNode(const Graph& graph, NodeId node, std::span<const Tensor> inputs);

}  // namespace pt
