#include "lib/profiler/host_caches.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kBlock = 4096;  // what one core writes of a tensor before another
constexpr size_t kDisturbance = size_t{8} << 20;
constexpr size_t kDisturbanceWithoutConstants = size_t{4} << 20;

void PushOutOfCaches(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  for (size_t at = 0; at < bytes.size(); at += kLine) _mm_clflush(bytes.data() + at);
  _mm_mfence();
#else
  static_cast<void>(bytes);  // no such instruction: the walk over junk has to do
#endif
}

// The host class with the most cores.
UnitClassId WidestClass(const Platform& platform) {
  UnitClassId widest;
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    const uint32_t cores = platform.unit_classes[k].cores;
    if (cores > (widest.valid() ? platform.unit_class(widest).cores : 0)) widest = UnitClassId(k);
  }
  return widest;
}

}  // namespace

Result<std::unique_ptr<HostCaches>> HostCaches::Make(Machine& machine, uint64_t reuse_distance) {
  const Platform& platform = machine.platform();
  const UnitClassId widest = WidestClass(platform);
  PT_ASSIGN(auto all_cores, UnitRunner::Make(machine, UnitsOf(platform, widest).front()));
  return std::unique_ptr<HostCaches>(new HostCaches(std::move(all_cores), platform.unit_class(widest).cores,
                                                    reuse_distance, reuse_distance >= InMemoryDistance(platform)));
}

HostCaches::HostCaches(std::unique_ptr<UnitRunner> all_cores, uint32_t cores, uint64_t reuse_distance, bool in_memory)
    : all_cores_(std::move(all_cores)), cores_(cores), in_memory_(in_memory), sums_(cores, 0) {
  // Flushed constants need no long walk: the private caches and address translation are to be disturbed, no more.
  bytes_per_core_ = in_memory ? kDisturbance : static_cast<size_t>(reuse_distance) / cores;
  bytes_without_constants_ = std::min(bytes_per_core_, kDisturbanceWithoutConstants / cores);
  junk_.resize(bytes_per_core_ * cores, std::byte{1});
}

Status HostCaches::Prepare(const Subject& subject) {
  return all_cores_->Run([&](Stream& stream) -> Status {
    PrepareOn(*stream.team(), subject);
    return {};
  });
}

void HostCaches::PrepareOn(Team& team, const Subject& subject) {
  if (in_memory_) {
    for (const auto& packed : subject.packed_constants()) {
      PushOutOfCaches({static_cast<const std::byte*>(packed->data()), packed->bytes()});
    }
    for (const std::span<const std::byte> plain : subject.plain_constants()) PushOutOfCaches(plain);
  }
  const bool without_constants = subject.packed_constants().empty() && subject.plain_constants().empty();
  const size_t disturbed = without_constants ? bytes_without_constants_ : bytes_per_core_;
  auto prepare = [&](uint32_t core, uint32_t cores) {
    const std::byte* own = junk_.data() + core * bytes_per_core_;
    for (size_t at = 0; at < disturbed; at += kLine) sums_[core] += static_cast<uint64_t>(own[at]);
    const auto for_own_blocks = [&](size_t bytes, const auto& write) {
      for (size_t at = core * kBlock; at < bytes; at += cores * kBlock) write(at, std::min(kBlock, bytes - at));
    };
    for (DeviceBuffer* output : subject.outputs()) {
      auto* to = static_cast<std::byte*>(output->data());
      for_own_blocks(output->bytes(), [&](size_t at, size_t bytes) { std::memset(to + at, 0, bytes); });
    }
    for (const Subject::Input& input : subject.inputs()) {
      auto* to = static_cast<std::byte*>(input.buffer->data());
      const std::byte* from = input.fresh.data();
      for_own_blocks(input.fresh.size(), [&](size_t at, size_t bytes) { std::memcpy(to + at, from + at, bytes); });
    }
  };
  team.ParallelFor(cores_, prepare);
}

}  // namespace pt
