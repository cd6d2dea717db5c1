// Bytes replaced by what a table of 256 has for each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pt::host {

using ByteTable = std::array<uint8_t, 256>;

// y[i] = table[x[i]] for n bytes; y may be x.
using ByteLookup = void (*)(const ByteTable& table, const uint8_t* x, uint8_t* y, int64_t n);

// Those that this processor has the instructions for, the best first.
std::vector<ByteLookup> ByteLookupsOfProcessor();
ByteLookup FindByteLookup();

}  // namespace pt::host
