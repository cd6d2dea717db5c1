// Precision: how exact candidates may compute, as a user allows it; what each math mode may store; and how far from the
// reference its results may lie. The one home of these rules.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/support/result.h"

namespace pt {

// A set of math modes. fp32 is always among them: it may be used wherever less is allowed.
class Precision {
 public:
  Precision() = default;  // fp32 alone
  explicit Precision(std::initializer_list<MathMode> modes);

  Precision with(MathMode mode) const;
  bool allows(MathMode mode) const { return (modes_ >> static_cast<unsigned>(mode) & 1U) != 0; }
  // Some allowed mode may store a value of that type so.
  bool allows_storage(DataType value, DataType storage, QuantisationId quantisation = {}) const;
  friend bool operator==(const Precision&, const Precision&) = default;

 private:
  uint8_t modes_ = 1U << static_cast<unsigned>(MathMode::kFp32);
};

// Every mode that some library computes in; whether it does on a processor is another question.
Precision EveryPrecision();

// "fp32", "bf16", "fp32,bf16": modes separated by commas. Inverses up to order and repeats. Errors: kUsage for an
// unknown mode, and for one that no library computes in yet.
Result<Precision> PrecisionFromText(std::string_view text);
std::string ToString(const Precision& precision);  // "fp32", "fp32,bf16"

// Whether a candidate of that mode may keep a value of the graph in that storage type: its own type always; float32 as
// bfloat16 in bf16, as float16 in fp16, as an integer with a quantisation in int8.
bool MayStore(MathMode mode, DataType value, DataType storage, QuantisationId quantisation = {});

// Every number of a tensor stored as `narrow` can be stored as `wide` exactly: float32 holds bfloat16, and a quantised
// integer's number; neither of bfloat16 and float16 holds the other.
bool Holds(const Form& wide, const Form& narrow);

// Its math is allowed.
inline bool IsWithin(const Candidate& candidate, const Precision& precision) {
  return precision.allows(candidate.math);
}

// The largest difference from the reference that is still right, relative to the largest magnitude of the expected
// output: 1e-4 for fp32, 1e-2 for tf32 and fp16, 4e-2 for bf16, 1e-1 for int8; not below what the output's own type
// holds (1e-2 for float16, 4e-2 for bfloat16). 0 (exact) for all other types.
double RelativeTolerance(MathMode mode, DataType output);
// By how many units integers that the group makes may differ: one where it is the group that quantises them, since the
// order of roundings decides halfway between two; else 0.
int64_t StepTolerance(const Graph& graph, std::span<const NodeId> group, ValueId output);

}  // namespace pt
