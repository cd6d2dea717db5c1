#include "tools/common/machine_questions.h"

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

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
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

Status ListDevices(const CommonFlags& flags, const Machine& machine) {
  const Platform& platform = machine.platform();
  std::vector<DeviceRow> rows;
  for (size_t i = 0; i < platform.devices.size(); ++i) rows.push_back(DeviceRowOf(machine, DeviceId(i)));
  if (flags.json()) {
    Json object = Json::MakeObject(), devices = Json::MakeArray();
    for (const DeviceRow& row : rows) devices.Push(ToJson(row));
    object.Set("devices", std::move(devices));
    Json plugins = Json::MakeArray();
    for (const PluginReport& plugin : machine.plugins()) plugins.Push(ToJson(plugin));
    object.Set("plugins", std::move(plugins));
    object.Set("fingerprint", PlatformFingerprint(platform));
    return WriteOut(WriteJson(object) + "\n");
  }
  TextTable table({"device", "<kind", "memory", "<units", "<libraries"});
  for (const DeviceRow& row : rows) {
    table.Row({row.device.name, row.device.simulated ? "simulated" : row.device.kind,
               row.device.memory_bytes > 0 ? ShortBytes(row.device.memory_bytes) : "unknown", Joined(row.units),
               Joined(row.libraries)});
  }
  return WriteOut(table.Text() + PluginText(machine));
}

Status PrintPlatform(const Machine& machine) {
  Json json = Json::MakeObject();
  json.Set("format", "partitiontuner-platform").Set("version", 1);
  const Json platform = ToJson(machine.platform());
  for (const auto& [key, value] : *platform.as_object()) json.Set(key, value);
  return WriteOut(WriteJson(json) + "\n");
}

Status Answer(const CommonFlags& flags) {
  PT_ASSIGN(const EngineOptions options, EngineOptionsOf(flags));
  PT_ASSIGN(const std::unique_ptr<Machine> machine, Machine::Make(options.machine));
  return flags.list_devices ? ListDevices(flags, *machine) : PrintPlatform(*machine);
}

}  // namespace

std::optional<int> AnswerMachineQuestions(const CommonFlags& flags, Console& console) {
  if (!flags.list_devices && !flags.print_platform) return std::nullopt;
  const Status status = Answer(flags);
  return status.ok() ? 0 : console.Fail(status.error());
}

}  // namespace pt::tools
