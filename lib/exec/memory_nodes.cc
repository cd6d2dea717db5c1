#include "lib/exec/memory_nodes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace pt {

namespace {

// Bytes of an arena that a step writes, and the memory node it runs at.
struct Written {
  DeviceId device;
  uint64_t offset = 0, end = 0;
  std::optional<uint32_t> node;
};

std::vector<Written> AllWritten(const Platform& platform, const Plan& plan, const TensorPlaces& places) {
  std::vector<Written> all;
  const auto add_output = [&](InstanceId instance, std::optional<uint32_t> node) {
    const TensorPlace& place = places.instances[instance.index()];
    if (place.where != TensorPlace::Where::kArena || place.bytes == 0) return;
    all.push_back({place.device, place.offset, place.offset + place.bytes, node});
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (places.actions[i] != StepAction::kRun) continue;
    const std::optional<uint32_t> node = HomeNode(platform, plan.steps[i].unit);
    const Work& work = plan.steps[i].work;
    if (const auto* group = std::get_if<RunGroup>(&work)) {
      for (InstanceId out : group->out) add_output(out, node);
    } else if (const auto* reorder = std::get_if<Reorder>(&work)) {
      add_output(reorder->to, node);
    } else {
      add_output(std::get<Copy>(work).to, node);
    }
  }
  for (const auto& [device, arena] : plan.memory) {
    for (const ScratchPlacement& scratch : arena.scratch) {
      if (scratch.bytes == 0) continue;
      all.push_back({device, scratch.offset, scratch.offset + scratch.bytes,
                     HomeNode(platform, plan.steps[scratch.step.index()].unit)});
    }
  }
  return all;
}

}  // namespace

std::vector<NodeRange> NodeRanges(const Platform& platform, const Plan& plan, const TensorPlaces& places) {
  std::vector<Written> all = AllWritten(platform, plan, places);
  const auto key = [](const Written& w) { return std::pair(w.device, w.offset); };
  std::sort(all.begin(), all.end(), [&](const Written& a, const Written& b) { return key(a) < key(b); });
  std::vector<NodeRange> ranges;
  bool open = false;  // the last range goes on if the next one is of its node
  for (size_t i = 0; i < all.size();) {
    // All that overlaps, directly or by others between, has one home or none.
    const Written& first = all[i];
    uint64_t end = first.end;
    bool one_home = first.node.has_value();
    for (++i; i < all.size() && all[i].device == first.device && all[i].offset < end; ++i) {
      end = std::max(end, all[i].end);
      one_home = one_home && all[i].node == first.node;
    }
    if (!one_home) {
      open = false;
      continue;
    }
    if (open && ranges.back().device == first.device && ranges.back().node == *first.node) {
      ranges.back().bytes = end - ranges.back().offset;
    } else {
      ranges.push_back({first.device, first.offset, end - first.offset, *first.node});
    }
    open = true;
  }
  return ranges;
}

Result<std::shared_ptr<DeviceBuffer>> WeightsNear::Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                                       uint64_t bytes, const Fill& fill) {
  const auto fill_there = [&](DeviceBuffer& buffer) {
    device.PlaceNear(buffer, 0, bytes, node_);  // before the first touch
    return fill(buffer);
  };
  return store_.Get(content, std::string(format) + " near " + std::to_string(node_), device, bytes, fill_there);
}

}  // namespace pt
