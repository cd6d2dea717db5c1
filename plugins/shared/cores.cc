#include "plugins/shared/cores.h"

#include <set>
#include <system_error>
#include <thread>

#include "plugins/shared/own_thread.h"

namespace pt::plugins {

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
      StayOn(cores);
      work();
    }).join();
  } catch (const std::system_error&) {
    work();
  }
}

}  // namespace pt::plugins
