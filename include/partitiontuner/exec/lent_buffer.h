// LentBuffer: memory on a device of a machine for a tensor that a caller lends to runs, filled and read from the host.
// Whoever has memory on the device already lends that: a LentTensor is no more than an address and what lies there.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "partitiontuner/exec/session.h"

namespace pt {

class LentBuffer {
 public:
  // Uninitialised. The machine outlives it. Errors: kUnsupported (elements without a fixed size), kOutOfMemory.
  static Result<LentBuffer> Make(Machine& machine, DeviceId device, DataType type, std::vector<int64_t> dims);

  const LentTensor& tensor() const { return tensor_; }
  // Both block until the bytes are there. Not while a run uses the memory. Errors: kInvalidInput (another number of
  // bytes), kOutOfMemory, kRunFailed: what the device reports, or that it hung (it is lost to the machine then).
  Status Write(std::span<const std::byte> bytes);
  Result<Tensor> Read() const;

 private:
  LentBuffer(Machine& machine, LentTensor tensor, std::unique_ptr<DeviceBuffer> memory);

  Machine* machine_;
  LentTensor tensor_;
  std::unique_ptr<DeviceBuffer> memory_;
};

}  // namespace pt
