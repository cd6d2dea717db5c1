// Reorder: what changing the form of a value takes.
#pragma once

#include "lib/cost/cost_kind.h"

namespace pt {

// Of a dense tensor in that form; 0 where there is none.
uint64_t FormBytes(std::span<const int64_t> dims, const Form& form);

class ReorderTimes {
 public:
  // `reading` must outlive it.
  explicit ReorderTimes(const CostReading& reading);
  // Empty where no library can, or nothing is known.
  std::optional<Estimate> TimeOf(std::span<const int64_t> dims, const Form& from, const Form& to,
                                 UnitClassId unit_class) const;

 private:
  const CostReading& reading_;
  const std::string versions_;  // of the libraries among which the first that can makes a reorder
};

}  // namespace pt
