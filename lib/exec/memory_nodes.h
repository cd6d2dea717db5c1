// Memory nodes: on hosts with several, tensors and packed weights lie near the cores that use them.
#pragma once

#include <vector>

#include "lib/exec/tensor_places.h"
#include "partitiontuner/backend/backend.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// A range of a device's arena whose tensors are all written by units near one memory node.
struct NodeRange {
  DeviceId device;
  uint64_t offset = 0, bytes = 0;
  uint32_t node = 0;

  friend bool operator==(const NodeRange&, const NodeRange&) = default;
};
// Ascending by device and offset, apart from each other. Empty where the platform has one memory node.
std::vector<NodeRange> NodeRanges(const Platform& platform, const Plan& plan, const TensorPlaces& places);

// The store as kernels of units near one memory node see it: their constants have a copy there, made on first use and
// shared by all units of that node.
class WeightsNear : public WeightStore {
 public:
  WeightsNear(WeightStore& store, uint32_t node) : store_(store), node_(node) {}
  Result<std::shared_ptr<DeviceBuffer>> Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                            uint64_t bytes, const Fill& fill) override;
  uint64_t bytes() const override { return store_.bytes(); }

 private:
  WeightStore& store_;
  uint32_t node_;
};

}  // namespace pt
