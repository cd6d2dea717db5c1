// What files of simulated devices share with serialised platforms, and what else they say.
#pragma once

#include "partitiontuner/platform/platform_fields.h"

namespace pt {

struct SimulatedFile {
  std::string format, kind, description;  // not read
  int64_t version = 1;
  std::string name;
  uint64_t memory_bytes = 0, streams = 1;
  Link to_device, from_device;  // latency and bandwidth
  Json peers;                   // an object, in the order in which its links are added; null = none
  CallRules calls;
  SimulatedRates rates;
};

// Within an object that says more.
void Fields(FieldVisitor& v, SimulatedRates& rates);
void Fields(FieldVisitor& v, SimulatedFile& file);

}  // namespace pt
