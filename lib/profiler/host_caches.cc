#include "lib/profiler/host_caches.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr size_t kInMemoryWalk = size_t{8} << 20;  // of each core

void PushOutOfCaches(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  for (size_t at = 0; at < bytes.size(); at += kCacheLineBytes) _mm_clflush(bytes.data() + at);
  _mm_mfence();
#else
  static_cast<void>(bytes);  // no such instruction: the walk over junk has to do
#endif
}

}  // namespace

HostCaches::HostCaches(HostCores& cores, const Platform& platform, uint64_t reuse_distance)
    : cores_(cores), in_memory_(reuse_distance >= InMemoryDistance(platform)), sums_(cores.count(), 0) {
  // Flushed constants need no long walk. One that fills the last cache was tried: small kernels then take half as long
  // again as in runs, and profiling three times as long.
  junk_.resize(in_memory_ ? kInMemoryWalk * cores.count() : static_cast<size_t>(reuse_distance), std::byte{1});
}

Status HostCaches::PrepareFor(const Subject& subject, std::span<const uint32_t> own, std::span<const uint32_t> makers) {
  return cores_.Run([&](Team& team) -> Status {
    WriteOutputs(team, subject, Whose::kCallers, own);
    WriteInputs(team, subject, Whose::kCallers, own);
    Disturb(team, subject);
    WriteOutputs(team, subject, Whose::kOfThePlan, own);
    WriteInputs(team, subject, Whose::kOfThePlan, makers);
    auto walk = [&](uint32_t core, uint32_t) {
      if (std::find(own.begin(), own.end(), core) != own.end()) code_walk_.Walk();
    };
    team.OnEveryCore(walk);
    return {};
  });
}

void HostCaches::WriteOutputs(Team& team, const Subject& subject, Whose whose, std::span<const uint32_t> writers) {
  auto write = [&](uint32_t core, uint32_t) {
    const auto found = std::find(writers.begin(), writers.end(), core);
    if (found == writers.end()) return;
    const auto index = static_cast<size_t>(found - writers.begin());
    for (const Subject::Output& output : subject.outputs()) {
      if (output.is_callers != (whose == Whose::kCallers)) continue;
      auto* to = static_cast<std::byte*>(output.buffer->data());
      const auto [begin, end] = StretchOf(index, writers.size(), output.buffer->bytes());
      if (begin < end) std::memset(to + begin, 0, end - begin);
    }
  };
  team.OnEveryCore(write);
}

void HostCaches::WriteInputs(Team& team, const Subject& subject, Whose whose, std::span<const uint32_t> writers) {
  auto write = [&](uint32_t core, uint32_t) {
    const auto found = std::find(writers.begin(), writers.end(), core);
    if (found == writers.end()) return;
    const auto index = static_cast<size_t>(found - writers.begin());
    for (const Subject::Input& input : subject.inputs()) {
      if (input.is_callers != (whose == Whose::kCallers)) continue;
      auto* to = static_cast<std::byte*>(input.buffer->data());
      const auto [begin, end] = StretchOf(index, writers.size(), input.fresh->bytes());
      const auto* fresh = static_cast<const std::byte*>(input.fresh->data());
      if (begin < end) std::memcpy(to + begin, fresh + begin, end - begin);
    }
  };
  team.OnEveryCore(write);
}

void HostCaches::Disturb(Team& team, const Subject& subject) {
  if (in_memory_) {
    for (const auto& packed : subject.packed_constants()) {
      PushOutOfCaches({static_cast<const std::byte*>(packed->data()), packed->bytes()});
    }
    for (const std::span<const std::byte> plain : subject.plain_constants()) PushOutOfCaches(plain);
  }
  // What the work itself touches is part of what a run does.
  const size_t others = in_memory_ ? junk_.size() : junk_.size() - std::min(junk_.size(), subject.touched_bytes());
  auto walk = [&](uint32_t core, uint32_t) {
    const auto [begin, end] = StretchOf(core, cores_.count(), others);
    for (size_t at = begin; at < end; at += kCacheLineBytes) sums_[core] += static_cast<uint64_t>(junk_[at]);
  };
  team.OnEveryCore(walk);
}

}  // namespace pt
