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
MeasurementKey ReorderKey(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims,
                          const Form& from, const Form& to, std::string_view library_version);
// For costs that are not work of a graph, layer cost makes keys of these parts. The text of a whole key except for the
// method's version, which is put behind it:
MeasurementKey MakeKey(std::string text);
MeasurementKey WithField(MeasurementKey key, std::string_view field);           // one field more, behind all others
std::string UnitClassFields(const Platform& platform, UnitClassId unit_class);  // "cpu/1 | fingerprint of its device"

// The version of the measuring method: part of every key; raised when measuring changes meaning
// (docs/profile-format.md, "How times are taken").
inline constexpr int kMeasurementMethodVersion = 5;
// Whether the text is of a key of this version.
bool IsOfThisMethod(std::string_view key_text);

}  // namespace pt
