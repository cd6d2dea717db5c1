// The part of CheckPlan about precision that is lost between steps: a reorder may store a value in less for who reads
// it so, and what was made in less may be stored in more; but nothing reads as a value's own what was stored in less on
// the way to it.
#pragma once

#include "lib/plan/check_rules.h"
#include "partitiontuner/plan/check_plan.h"

namespace pt {

// What of a value is left where copies and reorders have brought it.
struct KeptPrecision {
  Form made;  // as a step made it, or the caller lent it
  Form kept;  // the least of all forms from there to here

  // Stored so, it would look like what was made, and is not.
  bool is_lost_in(const Form& form) const;
  KeptPrecision After(const Form& form) const;
};

// Fault: "narrowed". Relies on a plan whose steps read what earlier steps write.
void CheckNarrowing(const CheckedPlan& checked, std::vector<PlanFault>& faults);

}  // namespace pt
