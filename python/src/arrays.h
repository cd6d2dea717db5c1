// Values of runs as Python has them: arrays (DLPack or the buffer protocol) for tensors of numbers, arrays of str for
// tensors of strings, lists for sequences, None for an optional value that holds nothing.
#pragma once

#include <nanobind/nanobind.h>
#include <partitiontuner/partitiontuner.h>

#include <memory>
#include <vector>

namespace pt::python {

// What a run is lent, and what keeps it alive. Made and destroyed with the GIL held; values are those of a graph that
// outlives it.
class LentValues {
 public:
  enum class Inputs : uint8_t {
    kLent,    // the caller's memory where the value is a contiguous array on the host, else a contiguous copy of it
    kCopied,  // always a copy: the caller may write to its arrays at once
  };
  explicit LentValues(Inputs inputs) : inputs_(inputs) {}

  // Throws Failure for what no array can be made of; whether type and dims are the model's is the session's to say.
  void AddInput(const Value& value, nanobind::handle given);
  // The caller's memory, which the run writes. Throws Failure for what is not a writable contiguous array on the host,
  // and for outputs of which no array holds the elements.
  void AddOutput(const Value& value, nanobind::handle given);
  // New memory, or none where the size is not known before the run or the value is not a tensor of numbers.
  void AddOutput(const Value& value);

  std::span<const LentTensor> tensors() const { return tensors_; }
  // Output number `index` after the run that `report` is of: what was given, or a new array that owns its memory.
  nanobind::object Output(size_t index, const RunReport& report) const;

 private:
  Inputs inputs_;
  std::vector<const Value*> values_;  // by tensor, of the session's graph
  std::vector<LentTensor> tensors_;
  std::vector<nanobind::object> arrays_;  // by tensor; none where it is a datum or has no size yet
  std::vector<std::shared_ptr<const Datum>> data_;
};

}  // namespace pt::python
