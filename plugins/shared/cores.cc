#include "plugins/shared/cores.h"

#include <sched.h>

#include <set>
#include <system_error>
#include <thread>

namespace pt::plugins {
namespace {

// Cores that this machine does not have are left out by the system, which refuses only an empty set: then the thread
// stays where it is.
void StayOn(const std::vector<uint32_t>& cores) {
  cpu_set_t* set = CPU_ALLOC(cores.back() + 1);
  if (set == nullptr) return;
  const size_t bytes = CPU_ALLOC_SIZE(cores.back() + 1);
  CPU_ZERO_S(bytes, set);
  for (const uint32_t core : cores) CPU_SET_S(core, bytes, set);
  (void)sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

}  // namespace

std::vector<uint32_t> HostCores(const Platform& platform) {
  std::set<uint32_t> cores;
  for (const Unit& unit : platform.units) {
    if (!platform.unit_class(unit.unit_class).on_host()) continue;
    for (const auto& [resource, share] : unit.uses) {
      if (const auto core = platform.resources[resource.index()].core) cores.insert(*core);
    }
  }
  return {cores.begin(), cores.end()};
}

void RunOnCores(const std::vector<uint32_t>& cores, const std::function<void()>& work) {
  try {
    std::thread([&] {
      if (!cores.empty()) StayOn(cores);
      work();
    }).join();
  } catch (const std::system_error&) {
    work();
  }
}

}  // namespace pt::plugins
