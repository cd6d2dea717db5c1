#include "lib/profiler/host_cores.h"

namespace pt {
namespace {

std::vector<ResourceId> CoresAmong(const Platform& platform, UnitId unit) {
  std::vector<ResourceId> cores;
  for (const auto& [resource, use] : platform.unit(unit).uses) {
    if (platform.resources[resource.index()].core) cores.push_back(resource);
  }
  return cores;
}

}  // namespace

Result<std::unique_ptr<HostCores>> HostCores::Make(Machine& machine) {
  const UnitId all = WidestHostUnit(machine.platform());
  if (!all.valid()) return MakeError(ErrorCode::kUsage, "profiler.no_cores", "the host has no cores to measure on");
  PT_ASSIGN(auto runner, UnitRunner::Make(machine, all));
  return std::unique_ptr<HostCores>(new HostCores(machine.platform(), all, std::move(runner)));
}

HostCores::HostCores(const Platform& platform, UnitId all, std::unique_ptr<UnitRunner> runner)
    : platform_(platform),
      all_(all),
      count_(static_cast<uint32_t>(CoresAmong(platform, all).size())),
      runner_(std::move(runner)) {}

std::vector<uint32_t> HostCores::CoresOf(UnitId unit) const {
  const std::vector<ResourceId> all = CoresAmong(platform_, all_), own = CoresAmong(platform_, unit);
  std::vector<uint32_t> indices;
  for (const ResourceId core : own) {
    for (uint32_t i = 0; i < all.size(); ++i) {
      if (all[i] == core) indices.push_back(i);
    }
  }
  return indices;
}

Status HostCores::Run(const std::function<Status(Team&)>& body) {
  return runner_->Run([&](Stream& stream) { return body(*stream.team()); });
}

}  // namespace pt
