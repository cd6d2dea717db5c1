#include "partitiontuner/platform/discover.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include "partitiontuner/platform/cpu_quota.h"

namespace pt {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

// One core this process may use, by the processing unit a worker is pinned to.
struct HostCore {
  unsigned os_index = 0;
  hwloc_obj_t object = nullptr;  // the processing unit
  int kind = 0;                  // efficiency class; 0 where all cores are alike
};

bool MayRunOn(unsigned os_index) {
  // Larger than cpu_set_t's 1024 on purpose: big machines have more.
  static constexpr size_t kProcessors = 1 << 15;
  const size_t bytes = CPU_ALLOC_SIZE(kProcessors);
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kProcessors), [](cpu_set_t* s) { CPU_FREE(s); });
  if (!set || sched_getaffinity(0, bytes, set.get()) != 0) return true;
  return CPU_ISSET_S(os_index, bytes, set.get());
}

// The first allowed processing unit of every core, in topology order: neighbours share caches. Two hyper-threads of
// one core slow each other down, so the second is left to the system.
std::vector<HostCore> AllowedCores(hwloc_topology_t topology) {
  std::vector<HostCore> cores;
  const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  std::set<hwloc_obj_t> seen;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr) {
    if (!hwloc_bitmap_isset(allowed, unit->os_index) || !MayRunOn(unit->os_index)) continue;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
    if (core != nullptr && !seen.insert(core).second) continue;
    const int kind = hwloc_cpukinds_get_by_cpuset(topology, unit->cpuset, 0);
    cores.push_back({unit->os_index, unit, std::max(kind, 0)});
  }
  return cores;
}

std::string AttributeOf(hwloc_obj_t object, const char* name) {
  if (object == nullptr) return "";
  const char* text = hwloc_obj_get_info_by_name(object, name);
  return text == nullptr ? "" : text;
}

std::string CacheText(hwloc_obj_t unit) {
  std::string text;
  for (hwloc_obj_t object = unit; object != nullptr; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type)) continue;
    text += (text.empty() ? "L" : ", L") + std::to_string(object->attr->cache.depth) + " " +
            std::to_string(object->attr->cache.size >> 10) + " KiB";
  }
  return text;
}

std::vector<uint64_t> CacheBytes(hwloc_obj_t unit) {
  std::vector<uint64_t> bytes;
  for (hwloc_obj_t object = unit; object != nullptr; object = object->parent) {
    if (hwloc_obj_type_is_dcache(object->type)) bytes.push_back(object->attr->cache.size);
  }
  return bytes;
}

std::string HostFingerprint(hwloc_topology_t topology, const std::vector<HostCore>& cores) {
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, cores[0].object);
  std::string text = AttributeOf(package, "CPUVendor") + " " + AttributeOf(package, "CPUModel");
  for (const char* part : {"CPUFamilyNumber", "CPUModelNumber", "CPUStepping"}) {
    const std::string number = AttributeOf(package, part);
    if (!number.empty()) text += " " + std::string(part + 3) + " " + number;
  }
  return text + "; " + CacheText(cores[0].object) + "; " + HostInstructionSets();
}

// Sets of cores as ascending positions in the list of allowed cores.
using CoreSet = std::vector<size_t>;

// The allowed cores below each object of the type, where more than one core and not all are.
void AddGroups(hwloc_topology_t topology, hwloc_obj_type_t type, const std::vector<HostCore>& cores,
               std::vector<CoreSet>& sets) {
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
    CoreSet set;
    for (size_t i = 0; i < cores.size(); ++i) {
      if (hwloc_bitmap_isset(object->cpuset, cores[i].os_index)) set.push_back(i);
    }
    const bool new_set = std::find(sets.begin(), sets.end(), set) == sets.end();
    if (set.size() > 1 && new_set) sets.push_back(std::move(set));
  }
}

std::vector<CoreSet> UnitSets(hwloc_topology_t topology, const std::vector<HostCore>& cores) {
  std::vector<CoreSet> sets;
  CoreSet all(cores.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  sets.push_back(all);
  AddGroups(topology, HWLOC_OBJ_PACKAGE, cores, sets);
  AddGroups(topology, HWLOC_OBJ_NUMANODE, cores, sets);
  AddGroups(topology, HWLOC_OBJ_L3CACHE, cores, sets);
  if (cores.size() > 1) {
    for (size_t i = 0; i < cores.size(); ++i) sets.push_back({i});
  }
  return sets;
}

// "0-2,5": positions as ranges.
std::string RangeText(const CoreSet& set) {
  std::string text;
  for (size_t i = 0; i < set.size();) {
    size_t end = i;
    while (end + 1 < set.size() && set[end + 1] == set[end] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(set[i]);
    if (end > i) text += "-" + std::to_string(set[end]);
    i = end + 1;
  }
  return text;
}

// The memory node of each core; none where all have the same.
std::vector<std::optional<uint32_t>> MemoryNodes(const std::vector<HostCore>& cores) {
  std::vector<std::optional<uint32_t>> nodes;
  std::set<int> different;
  for (const HostCore& core : cores) {
    const int node = core.object->nodeset == nullptr ? -1 : hwloc_bitmap_first(core.object->nodeset);
    different.insert(node);
    nodes.push_back(node < 0 ? std::nullopt : std::optional<uint32_t>(static_cast<uint32_t>(node)));
  }
  if (different.size() < 2) std::fill(nodes.begin(), nodes.end(), std::nullopt);
  return nodes;
}

// Cores of one kind below one last-level cache cost otherwise than as many cores spread over several, so the name says
// both where they matter.
std::string ClassName(hwloc_topology_t topology, const std::vector<HostCore>& cores, const CoreSet& set) {
  std::set<int> kinds;
  std::set<hwloc_obj_t> caches;
  for (size_t i : set) {
    kinds.insert(cores[i].kind);
    caches.insert(hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, cores[i].object));
  }
  std::string name = "cpu/" + std::to_string(set.size());
  if (hwloc_cpukinds_get_nr(topology, 0) > 1) {
    name += kinds.size() > 1 ? ".mixed" : ".kind" + std::to_string(*kinds.begin());
  }
  if (caches.size() > 1) name += ".caches" + std::to_string(caches.size());
  return name;
}

Platform PlatformOf(hwloc_topology_t topology, const std::vector<HostCore>& cores) {
  Platform platform;
  Device host;
  host.name = "cpu";
  host.kind = "cpu";
  host.memory_bytes = hwloc_get_root_obj(topology)->total_memory;
  host.fingerprint = HostFingerprint(topology, cores);
  host.isa = HostInstructionSets();
  host.cache_bytes = CacheBytes(cores[0].object);
  platform.devices.push_back(std::move(host));
  const std::vector<std::optional<uint32_t>> nodes = MemoryNodes(cores);
  for (size_t i = 0; i < cores.size(); ++i) {
    platform.resources.push_back({"core " + std::to_string(i), 1.0, cores[i].os_index, nodes[i]});
  }
  for (const CoreSet& set : UnitSets(topology, cores)) {
    const std::string name = ClassName(topology, cores, set);
    UnitClassId unit_class = FindUnitClass(platform, name);
    if (!unit_class.valid()) {
      platform.unit_classes.push_back({name, kHostDevice, static_cast<uint32_t>(set.size())});
      unit_class = UnitClassId(platform.unit_classes.size() - 1);
    }
    Unit unit;
    unit.name = "cpu[" + RangeText(set) + "]";
    unit.unit_class = unit_class;
    for (size_t i : set) unit.uses.emplace_back(ResourceId(i), 1.0);
    platform.units.push_back(std::move(unit));
  }
  return platform;
}

}  // namespace

// Instruction sets that kernels are chosen by; a hypervisor may hide some of the processor's.
std::string HostInstructionSets() {
  static const std::set<std::string> counted = {
      "avx",      "avx2",     "fma",      "f16c",     "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
      "avx_vnni", "amx_tile", "amx_int8", "amx_bf16", "asimd",   "sve",      "sve2",     "bf16",        "i8mm"};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line);
    const std::set<std::string> found{std::istream_iterator<std::string>(words), {}};
    std::string text;
    for (const std::string& name : counted) {
      if (found.contains(name)) text += (text.empty() ? "" : " ") + name;
    }
    return text;
  }
  return "";
}

Result<Platform> DiscoverHost(const DiscoverOptions& options) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return MakeError(ErrorCode::kInternal, "platform.hwloc", "the topology library did not start");
  }
  const Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    return MakeError(ErrorCode::kInternal, "platform.hwloc", "the machine's topology cannot be read");
  }
  std::vector<HostCore> cores = AllowedCores(raw);
  if (cores.empty()) {
    return MakeError(ErrorCode::kDeviceUnusable, "platform.no_core",
                     "the affinity mask of this process allows no core of this machine");
  }
  // Spinning on more cores than the control group's quota pays for would get all of them stopped.
  size_t count = std::min<size_t>(cores.size(), CpuQuota());
  if (options.max_cores > 0) count = std::min<size_t>(count, options.max_cores);
  cores.resize(count);
  Platform platform = PlatformOf(raw, cores);
  PT_CHECK_OK(CheckPlatform(platform));
  return platform;
}

}  // namespace pt
