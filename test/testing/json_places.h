// Places within a JSON value, for tests that change what stands there.
#pragma once

#include <cstddef>

#include "partitiontuner/support/json.h"

namespace pt::testing {

// Where a value stands: its own pointer and that of the array or object that holds it. Good until that one grows,
// shrinks or goes.
struct JsonPlace {
  Json* value = nullptr;
  Json* parent = nullptr;  // null: the root
  size_t index = 0;        // within the parent
};

// Of a value that is one.
inline Json::Array& ItemsOf(Json& array) { return const_cast<Json::Array&>(*array.as_array()); }
inline Json::Object& PairsOf(Json& object) { return const_cast<Json::Object&>(*object.as_object()); }

}  // namespace pt::testing
