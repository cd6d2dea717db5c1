// Platform: the machine as plain data: devices, unit classes, units, links, resources. Says nothing of
// what a unit can run (libraries do) nor how fast (profiles do). Serialised with plans and profiles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partitiontuner/support/json.h"
#include "partitiontuner/support/result.h"
#include "partitiontuner/support/strong_id.h"

namespace pt {

using DeviceId = StrongId<struct DeviceTag>;
using UnitClassId = StrongId<struct UnitClassTag>;
using UnitId = StrongId<struct UnitTag>;
using LinkId = StrongId<struct LinkTag>;
using ResourceId = StrongId<struct ResourceTag>;

// The host is always device 0, named "cpu"; nothing else tells it from other devices. Its memory is the process's, and
// its units are host cores that run a step to its end. Every other device has memory of its own, and its units are
// asynchronous: a driver core launches their steps and polls until they are done (streams, queues, copy engines).
inline constexpr DeviceId kHostDevice{0u};
constexpr bool IsHost(DeviceId id) { return id == kHostDevice; }

// What one call of a device may hold, whatever library makes it: known of the device, not of its libraries. Libraries
// offer no others (candidate/device_calls.h); planners meet these rules only as candidates that are not there.
struct CallRules {
  std::vector<std::string> operators = {};  // of the standard, no others; empty = whatever its libraries run
  double least_flops = 0;                   // of all nodes of a call together: less is not worth a call
  bool islands = false;                     // whole convex groups are compiled into one call
  std::string math = {};                    // the one math mode it computes in ("fp16"); empty = fp32
  friend bool operator==(const CallRules&, const CallRules&) = default;
};

// Memory plus something that computes on it.
struct Device {
  std::string name;                        // "cpu", "cuda:0", "sim:0"
  std::string kind;                        // "cpu", "cuda", "npu", "simulated"
  uint64_t memory_bytes = 0;               // 0 = unknown
  bool simulated = false;                  // its times come from a file, never from a clock
  std::string fingerprint;                 // what costs depend on: processor model, caches, driver, rate table hash
  std::vector<uint64_t> cache_bytes = {};  // data caches a host core sees, innermost first; empty = unknown
  // Instruction sets that kernels are chosen by, in alphabetical order, separated by spaces: of host cores ("avx2"), of
  // CUDA devices ("sm_80"). What a library offers depends on these, never on the processor it happens to be asked on.
  std::string isa = {};
  CallRules calls = {};
  // Its driver records steps and launches them as one (segments: plan/launch_segments.h). No matter of fingerprints:
  // plans and profiles hold whether or not it does.
  bool captures = false;

  bool has_instructions(std::string_view name) const;  // one of isa: "avx512_bf16"
};

// A kind of place to run on that costs the same everywhere.
struct UnitClass {
  std::string name;  // "cpu/1", "cpu/2", "sim:0": stable across runs, part of measurement keys
  DeviceId device;
  uint32_t cores = 0;  // host cores a step of this class occupies: at least 1 on the host, 0 on asynchronous units

  bool on_host() const { return IsHost(device); }
};

// What units occupy while they run. capacity 1 with uses of 1: exclusive.
struct Resource {
  std::string name;  // "core 0", "sim:0", "link cpu>sim:0"
  double capacity = 1.0;
  std::optional<uint32_t> core;  // the host core (operating system's number) this resource is
  // Cores of hosts with several memory nodes: the one that is near (operating system's number).
  std::optional<uint32_t> node = {};
};

// A place that runs one step at a time.
struct Unit {
  std::string name;  // "cpu[0-1]", "cpu[0]", "sim:0#0", "cpu>sim:0"
  UnitClassId unit_class;
  std::vector<std::pair<ResourceId, double>> uses;  // sorted by resource
  std::optional<ResourceId> driver;                 // asynchronous units: the core that launches and polls
  std::optional<LinkId> link;                       // copy engines: the link they serve
};

// A directed way from one device's memory to another's. A platform file gives latency and bandwidth
// of simulated links; those of real ones are measured (0 here).
struct Link {
  DeviceId from, to;
  int64_t latency_ns = 0;
  double bytes_per_ns = 0;
};

// How a simulated device fails, to see what programs do then.
struct SimulatedFaults {
  uint64_t lost_after = 0;  // kernels that it begins before it is lost for good; 0 = never
  uint64_t queue = 0;       // pieces of work that it holds at once, those running among them; 0 = any number
  double slow_down = 1;     // work takes that many times what the file says
  friend bool operator==(const SimulatedFaults&, const SimulatedFaults&) = default;
};

// Times of a simulated device: cost(group) = call_ns + fixed_ns + flops / flops_per_ns + bytes / bytes_per_ns by the
// operator family of its heaviest node, or, on devices that take islands, call_ns + the same of every node by its own
// family; exact rows by work signature hash win.
struct SimulatedRates {
  // How fast the device runs an operator.
  struct Family {
    double fixed_ns = 0, flops_per_ns = 0, bytes_per_ns = 0;  // rate 0 = that term is absent
    double demand = 1;  // share of the device while it runs, above 0 and at most 1: see Simulator in timeline.h
  };
  std::map<std::string, Family> families;   // key = ONNX operator, "*" = any other
  std::map<std::string, int64_t> exact_ns;  // key = work signature hash (hex)
  std::vector<std::string> unsupported;     // operators it refuses
  // What every call takes before it computes: requests in flight do not slow each other down meanwhile.
  double call_ns = 0;
  // What launching takes the core that drives it: a step by itself, or a segment and each step that it holds.
  struct Launches {
    int64_t step_ns = 0, segment_ns = 0, segment_step_ns = 0;
    friend bool operator==(const Launches&, const Launches&) = default;
  } launches = {};
  // How its driver runs, no matter of costs: neither written with the platform nor compared.
  bool real_clock = false;
  SimulatedFaults faults = {};
};

// What a simulated link takes for that many bytes.
int64_t CopyNs(const Link& link, uint64_t bytes);

struct Platform {
  std::vector<Device> devices;
  std::vector<UnitClass> unit_classes;
  std::vector<Unit> units;
  std::vector<Link> links;
  std::vector<Resource> resources;
  std::map<DeviceId, SimulatedRates> simulated;

  const Device& device(DeviceId id) const { return devices[id.index()]; }
  const UnitClass& unit_class(UnitClassId id) const { return unit_classes[id.index()]; }
  const Unit& unit(UnitId id) const { return units[id.index()]; }
  const Link& link(LinkId id) const { return links[id.index()]; }
  DeviceId device_of(UnitId id) const { return unit_class(unit(id).unit_class).device; }
};

DeviceId FindDevice(const Platform& platform, std::string_view name);  // invalid when absent
UnitId FindUnit(const Platform& platform, std::string_view name);      // invalid when absent
UnitClassId FindUnitClass(const Platform& platform, std::string_view name);
LinkId FindLink(const Platform& platform, DeviceId from, DeviceId to);  // invalid when absent
UnitId FindCopyUnit(const Platform& platform, LinkId link);             // invalid when absent
// The host's unit with the most cores, the first on a tie; invalid where the host has none.
UnitId WidestHostUnit(const Platform& platform);
// The host units of one core each.
std::vector<UnitId> SingleCoreUnits(const Platform& platform);
std::vector<UnitId> UnitsOf(const Platform& platform, UnitClassId unit_class);
// The memory node that all cores of the unit are near; none when there are several, or where it makes no difference.
std::optional<uint32_t> HomeNode(const Platform& platform, UnitId unit);
// True when both use an exclusive resource in common, so that they never run at once.
bool UnitsConflict(const Platform& platform, UnitId a, UnitId b);

Json ToJson(const Platform& platform);
// The rules as a platform file has them: {"operators": […], "least_flops": N, "islands": BOOL, "math": "fp16"}, each of
// which may be absent. Errors (kInvalidInput): unknown keys, wrong types, an unknown mode; `what` names the text.
Json ToJson(const CallRules& rules);
Result<CallRules> CallRulesFromJson(const Json& json, std::string_view what);
Result<Platform> PlatformFromJson(const Json& json, std::string_view what);
// Every id in range, names unique, uses within capacity, exactly the host's classes occupy cores.
Status CheckPlatform(const Platform& platform);

// 32 hex digits over everything costs depend on; differs where a profile or plan must not be reused.
std::string PlatformFingerprint(const Platform& platform);
// Lines "field: a, now b" naming what differs; empty when the fingerprints agree.
std::vector<std::string> PlatformDifferences(const Platform& then, const Platform& now);

}  // namespace pt
