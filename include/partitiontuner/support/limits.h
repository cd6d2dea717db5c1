// Limits on what files may ask for, checked before anything is allocated. 0 = no limit.
#pragma once

#include <cstdint>

namespace pt {

// Of files, models and runs; in bytes where the name says so.
struct Limits {
  uint64_t file_bytes = (uint64_t{1} << 31) - 1;  // model file
  uint32_t protobuf_depth = 100;
  uint32_t subgraph_depth = 16;
  uint64_t nodes = 1'000'000;  // after function expansion
  uint64_t functions = 10'000;
  uint32_t rank = 64;
  uint64_t name_bytes = 64 << 10;
  uint64_t densified_bytes = 256 << 20;        // of all sparse tensors of a model once dense
  uint64_t tensor_bytes = uint64_t{16} << 30;  // of one intermediate or folded constant
  uint64_t folded_bytes = uint64_t{2} << 30;   // what folding adds to constants; less is enough for small models
  uint64_t run_bytes = uint64_t{16} << 30;     // memory of one run state
  uint64_t plan_bytes = 64 << 20;
  uint64_t profile_bytes = 256 << 20;
  uint32_t json_depth = 128;
};

}  // namespace pt
