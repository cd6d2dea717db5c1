// Damages plans at random, as text editors, other programs and bad luck would: any field of the JSON, of any type.
#pragma once

#include <random>
#include <string>

#include "partitiontuner/support/json.h"

namespace pt::testing {

// Changes one place of the plan's JSON and says which and how. Every part of a plan has its share, and within a part
// every kind of field. Numbers and strings often become what stands in another field of the same kind, arrays lose,
// repeat, swap or borrow an element, objects lose a key, and anything may become a value of another type.
std::string Mutate(Json& plan, std::mt19937_64& random);

// Takes away the names beside the indices, which a reader would find to disagree with a changed index.
void DropNames(Json& plan);

}  // namespace pt::testing
