#include "partitiontuner/plan/lending.h"

#include <algorithm>

namespace pt {

DeviceId LentDevice(const LentOn& lent_on, ValueId value) {
  const auto found = lent_on.find(value);
  return found == lent_on.end() ? kHostDevice : found->second;
}

std::string LendingFault(const Graph& graph, const Platform& platform, ValueId id, DeviceId device) {
  if (id.index() >= graph.values().size()) return "there is no value " + std::to_string(id.value);
  if (device.index() >= platform.devices.size()) return "there is no device " + std::to_string(device.value);
  const Value& value = graph.value(id);
  const std::string name = "'" + value.name + "'";
  const bool is_input = std::ranges::find(graph.inputs(), id) != graph.inputs().end();
  const auto times = std::ranges::count(graph.outputs(), id);
  if (!is_input && times == 0) return name + " is neither an input nor an output of the model";
  if (IsHost(device)) return "";
  const std::string where = " cannot lie on " + platform.device(device).name + ": ";
  if (is_input && times > 0) return name + where + "it is an input and an output at once";
  if (!is_input && !value.producer.valid()) return name + where + "it is a constant";
  if (times > 1) return name + where + "it is given out more than once";
  if (!value.type.is_static() || BitsOf(value.type.type) == 0)
    return name + where + "its size is not known until run time";
  return "";
}

}  // namespace pt
