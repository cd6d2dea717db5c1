// The stream of a simulated device: an order of work with a virtual clock, shared by the driver, which copies, and the
// library, which computes.
#pragma once

#include <algorithm>

#include "partitiontuner/backend/backend.h"

namespace pt {

class SimulatedStream : public Stream {
 public:
  Status Record(Event& event) override;
  Status Wait(Event& event) override;
  Result<bool> Synchronize(std::chrono::nanoseconds) override { return true; }
  void Revoke() override {}
  void AdvanceVirtualClock(int64_t ns) override { clock_ns_ = std::max(clock_ns_, ns); }

  // The work just computed takes that long on the device.
  void Spend(int64_t ns) { clock_ns_ += ns; }

 private:
  int64_t clock_ns_ = 0;
};

}  // namespace pt
