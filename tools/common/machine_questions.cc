#include "tools/common/machine_questions.h"

#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/text.h"
#include "tools/common/host_checks.h"
#include "tools/common/missing_parts.h"
#include "tools/common/prepare.h"
#include "tools/common/text.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

struct DeviceRow {
  Device device;
  std::vector<std::string> units, libraries;
};

DeviceRow DeviceRowOf(const Machine& machine, DeviceId id) {
  const Platform& platform = machine.platform();
  DeviceRow row;
  row.device = platform.device(id);
  for (size_t unit = 0; unit < platform.units.size(); ++unit) {
    const bool copies = platform.units[unit].link.has_value();
    if (!copies && platform.device_of(UnitId(unit)) == id) row.units.push_back(platform.units[unit].name);
  }
  for (const auto& library : machine.libraries()) {
    if (library->Serves(platform, id)) row.libraries.push_back(std::string(library->name()) + " " + library->version());
  }
  return row;
}

Json ArrayOf(const std::vector<std::string>& names) {
  Json json = Json::MakeArray();
  for (const std::string& name : names) json.Push(name);
  return json;
}

Json ToJson(const DeviceRow& row) {
  Json json = Json::MakeObject();
  json.Set("name", row.device.name);
  json.Set("kind", row.device.kind);
  json.Set("simulated", row.device.simulated);
  json.Set("memory_bytes", row.device.memory_bytes);
  json.Set("units", ArrayOf(row.units));
  json.Set("libraries", ArrayOf(row.libraries));
  return json;
}

Json ToJson(const PluginReport& plugin) {
  Json json = Json::MakeObject();
  json.Set("name", plugin.name);
  json.Set("path", plugin.path);
  json.Set("used", plugin.refused.empty());
  json.Set("reason", plugin.refused);
  json.Set("device_kinds", ArrayOf(plugin.device_kinds));
  json.Set("libraries", ArrayOf(plugin.libraries));
  return json;
}

// Empty without plugins, so that the table stands alone where there are none.
std::string PluginText(const Machine& machine) {
  if (machine.plugins().empty()) return "";
  TextTable table({"<plugin", "<brings", "<file"});
  for (const PluginReport& plugin : machine.plugins()) {
    std::vector<std::string> brings;
    for (const std::string& kind : plugin.device_kinds) brings.push_back("devices " + kind);
    for (const std::string& library : plugin.libraries) brings.push_back("library " + library);
    table.Row({plugin.name, plugin.refused.empty() ? Joined(brings) : "not used: " + plugin.refused, plugin.path});
  }
  return "\n" + table.Text();
}

Json ToJson(const MissingPart& part) {
  Json json = Json::MakeObject();
  json.Set("kind", part.kind);
  json.Set("name", part.name);
  json.Set("reason", part.reason);
  json.Set("advice", part.advice);
  return json;
}

std::string MissingText(const std::vector<MissingPart>& parts) {
  TextTable table({"<not used", "<name", "<why", "<what to do"});
  for (const MissingPart& part : parts) table.Row({part.kind, part.name, part.reason, part.advice});
  return parts.empty() ? "" : "\n" + table.Text();
}

Json MissingJson(const std::vector<MissingPart>& parts) {
  Json json = Json::MakeArray();
  for (const MissingPart& part : parts) json.Push(ToJson(part));
  return json;
}

std::vector<DeviceRow> DeviceRows(const Machine& machine) {
  std::vector<DeviceRow> rows;
  for (size_t i = 0; i < machine.platform().devices.size(); ++i) rows.push_back(DeviceRowOf(machine, DeviceId(i)));
  return rows;
}

Json MachineJson(const CommonFlags& flags, const Machine& machine) {
  Json object = Json::MakeObject(), devices = Json::MakeArray(), plugins = Json::MakeArray();
  for (const DeviceRow& row : DeviceRows(machine)) devices.Push(ToJson(row));
  for (const PluginReport& plugin : machine.plugins()) plugins.Push(ToJson(plugin));
  object.Set("devices", std::move(devices));
  object.Set("plugins", std::move(plugins));
  object.Set("missing", MissingJson(MissingParts(machine, flags)));
  object.Set("fingerprint", PlatformFingerprint(machine.platform()));
  return object;
}

Status ListDevices(const CommonFlags& flags, const Machine& machine) {
  if (flags.json()) return WriteOut(WriteJson(MachineJson(flags, machine)) + "\n");
  TextTable table({"device", "<kind", "memory", "<units", "<libraries"});
  for (const DeviceRow& row : DeviceRows(machine)) {
    table.Row({row.device.name, row.device.simulated ? "simulated" : row.device.kind,
               row.device.memory_bytes > 0 ? ShortBytes(row.device.memory_bytes) : "unknown", Joined(row.units),
               Joined(row.libraries)});
  }
  return WriteOut(table.Text() + PluginText(machine) + MissingText(MissingParts(machine, flags)));
}

Status PrintPlatform(const Machine& machine) {
  Json json = Json::MakeObject();
  json.Set("format", "partitiontuner-platform").Set("version", 1);
  const Json platform = ToJson(machine.platform());
  for (const auto& [key, value] : *platform.as_object()) json.Set(key, value);
  return WriteOut(WriteJson(json) + "\n");
}

std::string HostText(const std::vector<HostCheck>& checks) {
  TextTable table({"<host", "<is", "<what to do"});
  for (const HostCheck& check : checks) table.Row({check.topic, check.state, check.advice});
  return table.Text();
}

Json HostJson(const std::vector<HostCheck>& checks) {
  Json json = Json::MakeArray();
  for (const HostCheck& check : checks) {
    Json row = Json::MakeObject();
    row.Set("topic", check.topic);
    row.Set("state", check.state);
    row.Set("advice", check.advice);
    json.Push(std::move(row));
  }
  return json;
}

// The host first, which is there also when what was named is not. In JSON it is one object, so there it comes with the
// machine.
Status Diagnose(const CommonFlags& flags, const MachineOptions& options) {
  PT_ASSIGN(const Platform host, DiscoverHost({flags.threads}));
  const std::vector<HostCheck> checks = CheckHost(host);
  if (!flags.json()) PT_CHECK_OK(WriteOut(HostText(checks) + "\n"));
  PT_ASSIGN(const std::unique_ptr<Machine> machine, Machine::Make(options));
  PT_CHECK_OK(CheckCores(machine->platform(), flags));
  if (!flags.json()) return ListDevices(flags, *machine);
  Json object = MachineJson(flags, *machine);
  object.Set("host", HostJson(checks));
  return WriteOut(WriteJson(object) + "\n");
}

Status Answer(const CommonFlags& flags) {
  PT_ASSIGN(const EngineOptions options, EngineOptionsOf(flags));
  if (flags.doctor) return Diagnose(flags, options.machine);
  PT_ASSIGN(const std::unique_ptr<Machine> machine, Machine::Make(options.machine));
  PT_CHECK_OK(CheckCores(machine->platform(), flags));
  return flags.list_devices ? ListDevices(flags, *machine) : PrintPlatform(*machine);
}

}  // namespace

std::optional<int> AnswerMachineQuestions(const CommonFlags& flags, Console& console) {
  if (!flags.list_devices && !flags.print_platform && !flags.doctor) return std::nullopt;
  const Status status = Answer(flags);
  return status.ok() ? 0 : console.Fail(status.error());
}

}  // namespace pt::tools
