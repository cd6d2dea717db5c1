#include "test/fuzz/entry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "test/fuzz/damage.h"
#include "test/fuzz/entries/entries.h"

namespace pt::testing {
namespace {

constexpr FuzzEntry kEntries[] = {
    {"model_bytes", "model", ModelBytesEntry},
    {"model", "model", ModelEntry, DamageModel},
    {"model_run", "model", ModelRunEntry, DamageModel},
    {"external_data", "external_data", ExternalDataEntry},
    {"plan", "plan", PlanEntry, DamageJson},
    {"plan_run", "plan_run", PlanRunEntry, DamagePlan},
    {"profile", "profile", ProfileEntry, DamageJson},
    {"platform", "platform", PlatformEntry, DamageJson},
    {"workload", "workload", WorkloadEntry, DamageJson},
    {"npy", "npy", NpyEntry},
    {"tensor_file", "tensor_file", TensorFileEntry},
    {"flags", "flags", FlagsEntry},
    {"graph_text", "graph_text", GraphTextEntry},
};

}  // namespace

std::span<const FuzzEntry> FuzzEntries() { return kEntries; }

const FuzzEntry* FindFuzzEntry(std::string_view name) {
  const auto* row = std::ranges::find(kEntries, name, &FuzzEntry::name);
  return row == std::end(kEntries) ? nullptr : row;
}

void Expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

}  // namespace pt::testing
