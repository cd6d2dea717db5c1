// What readers of fields and checkers of structs say of a value that its note does not allow; empty where it does.
#pragma once

#include "partitiontuner/support/fields.h"

namespace pt {

// `text`: the value as a file has it; empty where it is in memory.
std::string RangeFault(std::string_view key, double value, const FieldNote& note, std::string_view text = {});
std::string WordFault(std::string_view key, const std::string& value, const FieldNote& note);
std::string EmptyFault(std::string_view key, size_t size, const FieldNote& note);
std::string LargeFault(std::string_view key, uint64_t value, uint64_t most);

}  // namespace pt
