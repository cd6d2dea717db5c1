// NeededKeys: what has to be measured for the costs of a graph on a machine. A kind of measurement is a CostKind: one
// file in lib/cost/kinds that says which keys it needs, what they are called and what they make of costs, and a row in
// CostKinds(). docs/add-a-cost.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/candidate/signature.h"

namespace pt {

class CostReader;
class CostReading;
class KeyList;
struct NeededKey;

// The work that costs are asked for, and where. Borrows everything.
struct CostScope {
  const Graph& graph;
  const Platform& platform;
  std::span<const Candidate> candidates;
  const std::map<std::string, std::string>& library_versions;  // name -> version, as in the keys
  uint64_t reuse_distance = 0;                                 // ReuseDistance

  // CostKey by the version of the candidate's library; without a version where that is not among them.
  MeasurementKey KeyOf(const Candidate& candidate) const;
};

struct CostKind {
  std::string_view family;  // Measurement::family; empty: the operator of the heaviest node
  // When it is measured: before all else (what the executor costs), by how long the work takes, or behind all of that.
  enum class Turn : uint8_t { kFirst, kByWeight, kLate, kLast } turn = Turn::kByWeight;
  bool is_work = false;  // a library's own: failures to run are kept, and how exact its times are is reported
  // Adds its keys.
  void (*list)(const CostScope&, KeyList&) = nullptr;
  // What a key is called, for people.
  std::string (*label)(const CostScope&, const NeededKey&) = nullptr;
  // What its rows of a profile make of costs; null where a class of its own does it (copies, reorders, work beside
  // other work).
  std::unique_ptr<CostReader> (*read)(const CostReading&) = nullptr;
};

// Each in the file of its name in lib/cost/kinds.
extern const CostKind kOverheadKind, kWaitKind, kFetchKind, kSegmentKind, kStreamWaitKind, kRunKind, kFetchedInputsKind,
    kDemandKind, kBesideMemoryKind, kBesideComputeKind, kMemoryHogKind, kReorderKind, kCopyKind;
// All of them, in the order in which their keys are listed.
std::span<const CostKind* const> CostKinds();

// What is measured.
struct CandidateWork {
  size_t candidate = 0;  // index; of run the first with this key
  UnitClassId unit_class;
};
struct ReorderWork {
  std::vector<int64_t> dims;
  Form from, to;
  UnitClassId unit_class;
};
struct ClassWork {  // of any unit of the class
  UnitClassId unit_class;
  uint32_t steps = 0;  // 0 where the kind knows but one number
};
struct PairWork {  // between a unit of one class and another of the other
  UnitClassId from, to;
  uint64_t bytes = 0;  // 0 where nothing is moved
};
struct LinkWork {
  LinkId link;
  uint64_t bytes = 0;
};

struct NeededKey {
  MeasurementKey key;
  const CostKind* kind = nullptr;
  std::variant<CandidateWork, ReorderWork, ClassWork, PairWork, LinkWork> work;
  double expected_flops = 0, expected_bytes = 0;  // for ordering

  // That it is measured for; of pairs the first one's. Invalid for links.
  UnitClassId unit_class() const;
  // Asserts that it is such work.
  const CandidateWork& candidate() const { return std::get<CandidateWork>(work); }
  const ReorderWork& reorder() const { return std::get<ReorderWork>(work); }
  const ClassWork& of_class() const { return std::get<ClassWork>(work); }
  const PairWork& pair() const { return std::get<PairWork>(work); }
  const LinkWork& link() const { return std::get<LinkWork>(work); }
};

// Every key a planner over these candidates may ask for, and what MakeBesideCosts asks for: what pt-profile measures.
// Each once. Reorders are made by the first library that can, so their keys name all of them.
std::vector<NeededKey> NeededKeys(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                                  const std::map<std::string, std::string>& library_versions);

}  // namespace pt
