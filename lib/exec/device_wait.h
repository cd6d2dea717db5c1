// DeviceWait: how a core waits for work of a device, whose end wakes no thread. It sleeps for most of the time that the
// work is thought to take and asks without a pause from then on, so that the end is noticed at once.
#pragma once

#include <cstdint>

namespace pt {

class DeviceWait {
 public:
  // now_ns: of NowNs. expected_ns: how long the work is thought to take from now on; 0: not known. crowded: more
  // threads than cores, so that asking without a pause keeps away others.
  DeviceWait(int64_t now_ns, int64_t expected_ns, bool crowded);

  // How long to sleep before asking again: a millisecond at most, since the sleeper is not woken when the run is to
  // stop. 0: ask at once.
  int64_t PauseNs(int64_t now_ns) const;

 private:
  int64_t begin_ns_, wake_ns_, spin_until_ns_;
};

// How long work is thought to take that the plan says takes predicted_ns (0: it does not say), and took measured_ns in
// the run before (0: there was none): the less of both. A prediction may be wrong by far, and a measurement that of a
// run that something has held up. 0 where either is missing.
int64_t ExpectedNs(int64_t predicted_ns, int64_t measured_ns);

// Sleeps without the tens of microseconds that the system may add for threads that are in no hurry (timer slack).
void SleepFor(int64_t ns);

}  // namespace pt
