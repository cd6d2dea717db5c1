#include <algorithm>
#include <map>

#include "partitiontuner/platform/platform.h"
#include "partitiontuner/support/hash.h"

namespace pt {
namespace {

// Everything costs depend on, as field -> text; what differs between two platforms is what differs here. The operating
// system's core numbers and the memory sizes are left out: a plan runs as well on cores 2-3 as on 0-1.
using Fields = std::map<std::string, std::string>;

// Locale-free and exact enough to be the same text for the same number everywhere.
std::string NumberText(double number) { return WriteJson(Json(number), -1); }

std::string UsesText(const Platform& platform, const Unit& unit) {
  std::string text;
  for (const auto& [resource, amount] : unit.uses) {
    if (!text.empty()) text += " + ";
    text += NumberText(amount) + " of " + platform.resources[resource.index()].name;
  }
  return text;
}

void AddRates(const std::string& device, const SimulatedRates& rates, Fields& fields) {
  for (const auto& [op, family] : rates.families) {
    fields["rate of " + op + " on " + device] = NumberText(family.fixed_ns) + " ns, " +
                                                NumberText(family.flops_per_ns) + " flops/ns, " +
                                                NumberText(family.bytes_per_ns) + " bytes/ns" +
                                                (family.demand == 1 ? "" : ", demand " + NumberText(family.demand));
  }
  for (const auto& [signature, ns] : rates.exact_ns) {
    fields["time of " + signature + " on " + device] = std::to_string(ns) + " ns";
  }
  if (rates.call_ns != 0) fields["call of " + device] = NumberText(rates.call_ns) + " ns";
  if (const SimulatedRates::Launches& launches = rates.launches; launches != SimulatedRates::Launches()) {
    fields["launches of " + device] = std::to_string(launches.step_ns) + " ns a step, " +
                                      std::to_string(launches.segment_ns) + " a segment and " +
                                      std::to_string(launches.segment_step_ns) + " for each step in it";
  }
  std::vector<std::string> unsupported = rates.unsupported;
  std::sort(unsupported.begin(), unsupported.end());
  for (const std::string& op : unsupported) fields[op + " on " + device] = "unsupported";
}

Fields FieldsOf(const Platform& platform) {
  Fields fields;
  // Plans name all of these by position, so the position belongs to what must agree.
  size_t position = 0;
  for (const Device& device : platform.devices) {
    fields["device " + device.name] =
        "#" + std::to_string(position++) + ", " + device.kind + (device.simulated ? ", simulated" : "");
    fields["fingerprint of " + device.name] = device.fingerprint;
    if (device.calls != CallRules()) fields["calls of " + device.name] = WriteJson(ToJson(device.calls), -1);
  }
  position = 0;
  for (const UnitClass& unit_class : platform.unit_classes) {
    fields["unit class " + unit_class.name] =
        "#" + std::to_string(position++) + ", " + platform.device(unit_class.device).name + ", " +
        std::to_string(unit_class.cores) + " cores" + (unit_class.on_host() ? "" : ", asynchronous");
  }
  position = 0;
  for (const Unit& unit : platform.units) {
    std::string text = "#" + std::to_string(position++) + ", " + platform.unit_class(unit.unit_class).name + ", uses " +
                       UsesText(platform, unit);
    if (unit.driver) text += ", driven by " + platform.resources[unit.driver->index()].name;
    fields["unit " + unit.name] = text;
  }
  position = 0;
  for (const Link& link : platform.links) {
    fields["link " + platform.device(link.from).name + ">" + platform.device(link.to).name] =
        "#" + std::to_string(position++) + ", " + std::to_string(link.latency_ns) + " ns, " +
        NumberText(link.bytes_per_ns) + " bytes/ns";
  }
  for (const auto& [device, rates] : platform.simulated) {
    AddRates(platform.device(device).name, rates, fields);
  }
  return fields;
}

}  // namespace

std::string PlatformFingerprint(const Platform& platform) {
  std::string text;
  for (const auto& [name, value] : FieldsOf(platform)) text += name + ": " + value + "\n";
  return ToHex(HashText(text));
}

std::vector<std::string> PlatformDifferences(const Platform& then, const Platform& now) {
  const Fields before = FieldsOf(then);
  const Fields after = FieldsOf(now);
  std::vector<std::string> lines;
  for (const auto& [name, value] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      lines.push_back(name + ": " + value + ", now absent");
    } else if (found->second != value) {
      lines.push_back(name + ": " + value + ", now " + found->second);
    }
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) lines.push_back(name + ": absent, now " + value);
  }
  return lines;
}

}  // namespace pt
