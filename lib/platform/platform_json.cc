#include <algorithm>
#include <array>

#include "lib/platform/platform_files.h"
#include "partitiontuner/platform/platform_fields.h"

namespace pt {
namespace {

constexpr std::array<std::string_view, 4> kCallModes = {"fp32", "tf32", "fp16", "bf16"};
constexpr FieldRange kCacheSizes = {1, std::numeric_limits<double>::infinity(),
                                    "{key} holds {value}; expected sizes above 0"};

// An id that a file says by the name of what it means, which comes before.
template <typename Id, typename Items>
void ByName(FieldVisitor& v, std::string_view key, Id& id, const Items& items, const char* kind,
            const FieldNote& note) {
  std::optional<std::string> name;
  if (v.writes() && id.valid()) name = items[id.index()].name;
  v.Field(key, name, note);
  if (!v.reads() || !name) return;
  const auto found = std::ranges::find(items, *name, [](const auto& item) { return item.name; });
  id = Id(static_cast<size_t>(found - items.begin()));
  if (found != items.end()) return;
  v.Fail(std::string(key) + " names the " + kind + " '" + *name + "', which is not there", "platform.reference");
}

}  // namespace

// Visitors find these by their arguments, so they are not in the unnamed namespace.
void Fields(FieldVisitor& v, SimulatedRates::Family& family) {
  v.Field("fixed_ns", family.fixed_ns, "of each call");
  v.Field("flops_per_ns", family.flops_per_ns, "0: arithmetic takes no time");
  v.Field("bytes_per_ns", family.bytes_per_ns, "0: memory takes no time");
  v.Field("demand", family.demand, FieldNote("share of the device while it runs, above 0 and at most 1 (1)").Optional(),
          1.0);
}

// What a segment takes may be absent: such a device records none.
void Fields(FieldVisitor& v, SimulatedRates::Launches& launches) {
  v.Closed();
  v.Field("step_ns", launches.step_ns, "of the driver's core, for a step by itself");
  FieldNote segment("for a segment"), step("and for each step in it");
  if (!v.Has("segment_ns") && !v.Has("segment_step_ns")) segment.AlwaysWritten(), step.AlwaysWritten();
  v.Field("segment_ns", launches.segment_ns, segment);
  v.Field("segment_step_ns", launches.segment_step_ns, step);
}

void Fields(FieldVisitor& v, Device& device) {
  v.Field("name", device.name, "`cpu`, `cuda:0`, `sim:0`");
  v.Field("kind", device.kind, "`cpu`, `cuda`, `simulated` or what a plugin brings");
  v.Field("memory_bytes", device.memory_bytes, "0: not known");
  v.Field("simulated", device.simulated, "its times come from a file");
  v.Field("fingerprint", device.fingerprint, "what costs depend on: processor, caches, driver, rates");
  v.Field("isa", device.isa, FieldNote("instruction sets that kernels are chosen by").Optional());
  v.Field("cache_bytes", device.cache_bytes,
          FieldNote("data caches that a core of the host sees, innermost first").Optional().Within(kCacheSizes));
  v.Field("calls", device.calls, FieldNote("what one call may hold").Optional());
  v.Field("captures", device.captures, FieldNote("records steps and launches them as one").Optional());
}

void Fields(FieldVisitor& v, Resource& resource) {
  v.Field("name", resource.name, "`core 0`, `link cpu>sim:0`");
  v.Field("capacity", resource.capacity, "how much of it units may use at once");
  v.Field("core", resource.core, FieldNote("the operating system's number of the host core that it is").Optional());
  v.Field("node", resource.node, FieldNote("of that core: the memory node near it").Optional());
}

void Fields(FieldVisitor& v, Link& link, const Platform& platform) {
  ByName(v, "from", link.from, platform.devices, "device", "a device by its name");
  ByName(v, "to", link.to, platform.devices, "device", "likewise");
  v.Field("latency_ns", link.latency_ns, "of simulated links; 0 where it is measured");
  v.Field("bytes_per_ns", link.bytes_per_ns, "likewise");
}

void Fields(FieldVisitor& v, UnitClass& unit_class, const Platform& platform) {
  v.Field("name", unit_class.name, "`cpu/1`, `cpu/2`, `sim:0`");
  ByName(v, "device", unit_class.device, platform.devices, "device", "a device by its name");
  v.Field("cores", unit_class.cores, "of the host that a step occupies; 0 on other devices");
}

void Fields(FieldVisitor& v, Unit& unit, const Platform& platform) {
  v.Field("name", unit.name, "`cpu[0-1]`, `sim:0#0`, `cpu>sim:0`");
  ByName(v, "class", unit.unit_class, platform.unit_classes, "unit class", "a unit class by its name");
  v.Objects("uses", unit.uses, "what it occupies while it runs", [&](auto& use, size_t) {
    ByName(v, "resource", use.first, platform.resources, "resource", "by its name");
    v.Field("amount", use.second, "of its capacity");
  });
  ResourceId driver = unit.driver.value_or(ResourceId());
  ByName(v, "driver", driver, platform.resources, "resource",
         FieldNote("the core that launches its steps and polls").Optional());
  Link link = unit.link && v.writes() ? platform.link(*unit.link) : Link();
  ByName(v, "from", link.from, platform.devices, "device",
         FieldNote("of copy engines: what they lead from").Optional());
  FieldNote to("and where to");
  if (!link.from.valid()) to.Optional();
  ByName(v, "to", link.to, platform.devices, "device", to);
  if (!v.reads()) return;
  std::sort(unit.uses.begin(), unit.uses.end());
  if (driver.valid()) unit.driver = driver;
  if (!link.from.valid()) return;
  unit.link = FindLink(platform, link.from, link.to);
  if (!unit.link->valid()) v.Fail("serves a link that is not there");
}

static void SimulatedFields(FieldVisitor& v, Platform& platform) {
  std::vector<std::string> names;
  for (const auto& [device, rates] : platform.simulated) names.push_back(platform.device(device).name);
  const FieldNote note = FieldNote("rates of simulated devices by their names").AlwaysWritten();
  v.Entries("simulated", names, note, [&](const std::string& name) {
    const DeviceId device = FindDevice(platform, name);
    if (v.reads() && !device.valid()) {
      return v.Fail("the device '" + name + "' is not there", "platform.reference");
    }
    if (!v.describes()) return v.Value(platform.simulated[device], note);
    SimulatedRates rates;
    v.Value(rates, note);
  });
}

void Fields(FieldVisitor& v, CallRules& rules) {
  v.ErrorsAre("platform.calls");
  v.Closed();
  v.Field("operators", rules.operators,
          FieldNote("no others; absent: whatever its libraries run")
              .Optional()
              .NotEmpty("{key} is empty: leave it out where all are taken"));
  v.Field("least_flops", rules.least_flops,
          FieldNote("of all nodes of a call together: less is not worth a call").Optional().Within(kNotNegative));
  v.Field("islands", rules.islands, FieldNote("whole convex groups are compiled into one call").Optional());
  v.Field("math", rules.math, FieldNote("the one mode it computes in; absent: fp32").Optional().OneOf(kCallModes));
}

void Fields(FieldVisitor& v, SimulatedRates& rates) {
  v.ErrorsAre("platform.field");
  v.Field("families", rates.families,
          "by ONNX operator, `*` for any other: what a group takes whose heaviest node it is");
  v.Field("exact_ns", rates.exact_ns, FieldNote("by signature of the work: wins over families").AlwaysWritten());
  v.Field("unsupported", rates.unsupported, FieldNote("operators that it refuses").AlwaysWritten());
  v.Field("call_ns", rates.call_ns, FieldNote("of every call, before it computes").Optional());
  v.Field("launches", rates.launches, FieldNote("what launching takes the core that drives it").Optional());
}

void Fields(FieldVisitor& v, Platform& platform) {
  v.ErrorsAre("platform.field");
  std::string fingerprint = v.writes() ? PlatformFingerprint(platform) : std::string();
  v.Field("fingerprint", fingerprint, FieldNote("of all that costs depend on").ForPeople());
  v.Field("devices", platform.devices, "the host first");
  v.Field("resources", platform.resources, "what units occupy");
  v.Objects("links", platform.links, "ways between memories", [&](Link& link, size_t) { Fields(v, link, platform); });
  v.Objects("unit_classes", platform.unit_classes, "kinds of places that cost the same",
            [&](UnitClass& unit_class, size_t) { Fields(v, unit_class, platform); });
  v.Objects("units", platform.units, "places that run one step at a time",
            [&](Unit& unit, size_t) { Fields(v, unit, platform); });
  SimulatedFields(v, platform);
  if (!v.reads()) return;
  if (const Status status = CheckPlatform(platform); !status.ok()) {
    v.Fail(status.error().message, status.error().id);
  }
}

Json ToJson(const CallRules& rules) { return WriteFields(rules); }
Json ToJson(const Platform& platform) { return WriteFields(platform); }

Result<CallRules> CallRulesFromJson(const Json& json, std::string_view what) {
  CallRules rules;
  PT_CHECK_OK(ReadFields(json, FileSource(what, "platform.calls"), rules));
  return rules;
}

Result<Platform> PlatformFromJson(const Json& json, std::string_view what) {
  Platform platform;
  PT_CHECK_OK(ReadFields(json, FileSource(what, "platform.field"), platform));
  return platform;
}

}  // namespace pt
