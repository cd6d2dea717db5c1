#include "lib/profiler/device_watch.h"

#include <algorithm>
#include <cmath>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{200};
constexpr double kMostChange = 1.1;  // of clocks

std::optional<DeviceState> StateOf(const DeviceDriver& driver) {
  const auto* teller = dynamic_cast<const TellsState*>(&driver);
  return teller == nullptr ? std::nullopt : teller->State();
}

std::string Whole(double number) { return std::to_string(std::lround(number)); }

}  // namespace

void DeviceWatch::Note(DeviceId device) {
  const auto known = watched_.find(device);
  if (known != watched_.end()) {
    if (Clock::now() >= known->second.ask_again) Ask(device, known->second);
    return;
  }
  if (!StateOf(machine_.driver(device))) return;
  Watched& watched = watched_[device];
  watched.states.device = machine_.platform().device(device).name;
  Ask(device, watched);
  watched.states.first = watched.states.last;
}

void DeviceWatch::Ask(DeviceId device, Watched& watched) {
  watched.ask_again = Clock::now() + kPause;
  std::optional<DeviceState> state = StateOf(machine_.driver(device));
  if (!state) return;  // it told before: what was told last stays
  DeviceStates& states = watched.states;
  if (state->clock_mhz > 0) {
    states.slowest_mhz = states.slowest_mhz > 0 ? std::min(states.slowest_mhz, state->clock_mhz) : state->clock_mhz;
    states.fastest_mhz = std::max(states.fastest_mhz, state->clock_mhz);
  }
  for (const std::string& reason : state->throttled) {
    const auto at = std::ranges::lower_bound(states.throttled, reason);
    if (at == states.throttled.end() || *at != reason) states.throttled.insert(at, reason);
  }
  states.last = std::move(*state);
}

std::vector<DeviceStates> DeviceWatch::Close() {
  std::vector<DeviceStates> all;
  for (auto& [device, watched] : watched_) {
    Ask(device, watched);
    all.push_back(std::move(watched.states));
  }
  watched_.clear();
  return all;
}

std::string FaultOf(const DeviceStates& states) {
  std::string text;
  if (states.fastest_mhz > kMostChange * states.slowest_mhz) {
    text = "its clock changed between " + Whole(states.slowest_mhz) + " and " + Whole(states.fastest_mhz) + " MHz";
  }
  if (!states.throttled.empty()) text += (text.empty() ? "" : "; ") + ("it was throttled: " + Joined(states.throttled));
  return text;
}

std::string ToString(const DeviceState& state) {
  std::vector<std::string> parts;
  if (state.clock_mhz > 0) parts.push_back(Whole(state.clock_mhz) + " MHz");
  if (state.memory_clock_mhz > 0) parts.push_back("memory " + Whole(state.memory_clock_mhz) + " MHz");
  if (state.celsius > 0) parts.push_back(Whole(state.celsius) + " C");
  if (!state.throttled.empty()) parts.push_back("throttled: " + Joined(state.throttled));
  return Joined(parts);
}

}  // namespace pt
