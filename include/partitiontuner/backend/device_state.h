// DeviceState: what some devices say of themselves, for whoever measures them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pt {

// At a moment. 0 where the device does not say.
struct DeviceState {
  double clock_mhz = 0, memory_clock_mhz = 0;
  double celsius = 0;
  std::vector<std::string> throttled = {};  // why it is slower than it could be ("power cap"); empty: it is not

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

// A DeviceDriver that also implements this tells the state of its device. Thread-safe.
class TellsState {
 public:
  virtual ~TellsState() = default;
  // Empty where it cannot. May take milliseconds: never while something is timed.
  virtual std::optional<DeviceState> State() const = 0;
};

}  // namespace pt
