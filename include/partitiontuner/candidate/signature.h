// Signatures: what makes two measurements interchangeable. Text first (readable in the database), hashed
// for look-up. Nothing in them depends on node names, indices or the model.
#pragma once

#include <string>
#include <string_view>

#include "partitiontuner/candidate/candidate.h"

namespace pt {

// Canonical text of a group: operators with all attributes, internal edges, types, dims; per input:
// constant or not, its value if integer (bool too) and at most 64 elements, same-as-index for repeats.
std::string WorkSignature(const Graph& graph, std::span<const NodeId> nodes);

// Everything a time depends on: docs/profile-format.md, "Keys". `library_version` comes from Library::version().
struct MeasurementKey {
  std::string text;  // one line, fields separated by " | "
  Hash128 hash;
};
MeasurementKey CandidateKey(const Graph& graph, const Platform& platform, const Candidate& candidate,
                            std::string_view library_version);
MeasurementKey CopyKey(const Platform& platform, LinkId link, uint64_t bytes);
MeasurementKey ReorderKey(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims,
                          const Form& from, const Form& to, std::string_view library_version);
MeasurementKey OverheadKey(const Platform& platform, UnitClassId unit_class);  // one step's launch
MeasurementKey SegmentKey(const Platform& platform, UnitClassId unit_class,
                          uint32_t steps);                                           // launch of so many as one
MeasurementKey WaitKey(const Platform& platform, UnitClassId from, UnitClassId to);  // flag hand-over
MeasurementKey FetchKey(const Platform& platform, UnitClassId from, UnitClassId to, uint64_t bytes);
// What all other cores of the host are busy with meanwhile: "memory" or "compute".
MeasurementKey BesideKey(MeasurementKey alone, std::string_view hogs);
// Work whose inputs a unit of that class has made, and no other than this.
MeasurementKey FetchedKey(MeasurementKey own, const Platform& platform, UnitClassId from);
// What the work asks of its device while it runs there.
MeasurementKey DemandKey(MeasurementKey alone);
MeasurementKey MemoryHogKey(const Platform& platform, UnitClassId unit_class);  // hogs beside that class, a MiB each

// The version of the measuring method: part of every key; raised when measuring changes meaning
// (docs/profile-format.md, "How times are taken").
inline constexpr int kMeasurementMethodVersion = 5;
// Whether the text is of a key of this version.
bool IsOfThisMethod(std::string_view key_text);

}  // namespace pt
