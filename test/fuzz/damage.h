// Damages that the first reader of a format does not notice, so that what comes behind it meets them. Each takes what
// it cannot read as it is, and gives "" where it has nothing to change.
#pragma once

#include <string>

#include "partitiontuner/support/random.h"

namespace pt::testing {

// A model's fields and messages: changed, lost, repeated, exchanged, taken from elsewhere in it; lengths stay right.
std::string DamageModel(const std::string& bytes, Random& random);
// Values of a JSON text: changed, lost, repeated, taken from elsewhere in it.
std::string DamageJson(const std::string& text, Random& random);
// A plan of the entry "plan_run", where the text is none: of its own plan.
std::string DamagePlan(const std::string& text, Random& random);
// Bits, bytes, runs of bytes.
std::string DamageBytes(std::string bytes, Random& random);

}  // namespace pt::testing
