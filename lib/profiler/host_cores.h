// All cores of the host at once, and which of them a unit has: for bringing their caches into a known state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "partitiontuner/exec/unit_runner.h"

namespace pt {

class HostCores {
 public:
  // The machine must outlive it. Errors: kUsage where the host has no cores.
  static Result<std::unique_ptr<HostCores>> Make(Machine& machine);

  uint32_t count() const { return count_; }
  // Of a host unit: its cores as indices of the team, the leading one first.
  std::vector<uint32_t> CoresOf(UnitId unit) const;
  // Runs the body on the leading core, with the team of all; as UnitRunner::Run.
  Status Run(const std::function<Status(Team&)>& body);

 private:
  HostCores(const Platform& platform, UnitId all, std::unique_ptr<UnitRunner> runner);

  const Platform& platform_;
  UnitId all_;
  uint32_t count_;
  std::unique_ptr<UnitRunner> runner_;
};

}  // namespace pt
