#include "lib/planner/methods/streams.h"

#include <algorithm>

#include "lib/planner/search/serial_dp.h"

namespace pt {

Result<Streams> Streams::Make(const Space& space, std::string_view device,
                              const std::function<bool(const Group&)>& usable) {
  DeviceId id;
  if (!device.empty()) {
    PT_ASSIGN(id, DeviceNamed(space.platform(), device));
  }
  Streams streams(space, id);
  SerialRules rules;
  rules.allowed = [&](const Option& option) {
    return streams.Allowed(option) && (!usable || usable(space.group(option.group)));
  };
  PT_ASSIGN(streams.cover_, SolveSerial(space, rules));
  return streams;
}

bool Streams::Allowed(const Option& option) const {
  if (device_.valid() && option.device != device_) return false;
  const auto cores = [&](const Option& of) { return space_->platform().unit_class(of.unit_class).cores; };
  const std::vector<uint32_t>& options = space_->group(option.group).options;
  return std::none_of(options.begin(), options.end(), [&](uint32_t o) {
    const Option& other = space_->option(o);
    return other.device == option.device && cores(other) < cores(option);
  });
}

std::vector<uint32_t> Streams::Options(uint32_t group) const {
  std::vector<uint32_t> best;
  for (uint32_t o : space_->group(group).options) {
    const Option& option = space_->option(o);
    if (!Allowed(option)) continue;
    const auto same = std::find_if(best.begin(), best.end(),
                                   [&](uint32_t b) { return space_->option(b).unit_class == option.unit_class; });
    if (same == best.end()) {
      best.push_back(o);
    } else if (option.likely_ns() < space_->option(*same).likely_ns()) {
      *same = o;
    }
  }
  return best;
}

uint32_t Streams::OptionOn(uint32_t group, DeviceId device) const {
  const std::vector<uint32_t> options = Options(group);
  const auto found =
      std::find_if(options.begin(), options.end(), [&](uint32_t o) { return space_->option(o).device == device; });
  return found == options.end() ? kNothing : *found;
}

int64_t Streams::LeastNs(uint32_t group) const {
  int64_t least = kImpossible;
  for (uint32_t o : Options(group)) least = std::min(least, space_->option(o).likely_ns());
  return least;
}

std::vector<int64_t> Streams::RemainingNs(const CoverGraph& graph) const {
  std::vector<int64_t> remaining(graph.size(), 0);
  for (size_t c = graph.size(); c-- > 0;) {
    for (const auto& [reader, value] : graph.readers[c]) remaining[c] = std::max(remaining[c], remaining[reader]);
    remaining[c] = AddNs(remaining[c], LeastNs(graph.groups[c]));
  }
  return remaining;
}

int64_t Streams::WaitNs(const Option& option) const {
  const std::span<const UnitId> units = space_->units(option.unit_class);
  return units.size() < 2 ? 0 : space_->simulator().wait_ns(units[0], units[1]);
}

double Streams::Demand(const Option& option, UnitId unit) const {
  if (option.demand > 0) return option.demand;
  double share = 0;
  for (const auto& [resource, use] : space_->platform().unit(unit).uses) {
    share = std::max(share, use / space_->platform().resources[resource.index()].capacity);
  }
  return share;
}

}  // namespace pt
