#include "lib/planner/solve.h"

#include <algorithm>
#include <queue>

namespace pt {

Result<DeviceId> DeviceNamed(const Platform& platform, std::string_view name) {
  const DeviceId device = FindDevice(platform, name);
  if (device.valid()) return device;
  return MakeError(ErrorCode::kUsage, "planner.device", "unknown device '" + std::string(name) + "'",
                   "name one of the platform's devices, for instance " + platform.devices.front().name);
}

bool LegalSorter::Sort(Solution& solution, const std::vector<int64_t>& keys) {
  const auto index = [&](const auto& choice_at) {
    for (uint32_t c = 0; c < solution.size(); ++c) {
      for (NodeId node : space_.group_of(solution[c].option).nodes) choice_of_[node.index()] = choice_at(c);
    }
  };
  index([](uint32_t c) { return c; });
  // Readers of each choice, as one array in counting-sort form: this runs once per evaluated move.
  std::vector<uint32_t> open(solution.size(), 0);
  std::vector<uint32_t> first(solution.size() + 1, 0);
  const auto for_each_edge = [&](auto visit) {
    for (uint32_t c = 0; c < solution.size(); ++c) {
      for (ValueId in : space_.group_of(solution[c].option).in) {
        const NodeId producer = space_.value(in).producer;
        const uint32_t maker = producer.valid() ? choice_of_[producer.index()] : kNothing;
        if (maker != kNothing) visit(maker, c);
      }
    }
  };
  for_each_edge([&](uint32_t from, uint32_t to) { ++first[from + 1], ++open[to]; });
  for (size_t c = 0; c < solution.size(); ++c) first[c + 1] += first[c];
  std::vector<uint32_t> readers(first.back());
  std::vector<uint32_t> fill(first.begin(), first.end() - 1);
  for_each_edge([&](uint32_t from, uint32_t to) { readers[fill[from]++] = to; });
  index([](uint32_t) { return kNothing; });

  using Ready = std::pair<int64_t, uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (uint32_t c = 0; c < solution.size(); ++c) {
    if (open[c] == 0) ready.emplace(keys[c], c);
  }
  Solution sorted;
  sorted.reserve(solution.size());
  while (!ready.empty()) {
    const uint32_t c = ready.top().second;
    ready.pop();
    sorted.push_back(solution[c]);
    for (uint32_t r = first[c]; r < first[c + 1]; ++r) {
      if (--open[readers[r]] == 0) ready.emplace(keys[readers[r]], readers[r]);
    }
  }
  if (sorted.size() != solution.size()) return false;
  solution = std::move(sorted);
  return true;
}

}  // namespace pt
