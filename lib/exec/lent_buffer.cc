#include "partitiontuner/exec/lent_buffer.h"

#include <cstring>

#include "lib/exec/lost_devices.h"

namespace pt {
namespace {

// A copy between a device and pinned host memory, which it holds until the device is done.
class Transfer : public DeviceWork {
 public:
  static Result<std::unique_ptr<Transfer>> Make(DeviceDriver& driver, uint64_t bytes) {
    std::unique_ptr<Transfer> transfer(new Transfer);
    PT_ASSIGN(transfer->pinned_, driver.AllocateHost(bytes));
    PT_ASSIGN(transfer->stream_, driver.MakeStream());
    return transfer;
  }

  void* pinned() const { return pinned_->data(); }
  Stream& stream() const { return *stream_; }
  bool IsIdle() override { return IsAtRest(*stream_); }

 private:
  Transfer() = default;
  std::unique_ptr<DeviceBuffer> pinned_;
  std::unique_ptr<Stream> stream_;
};

// Waits for the device; one that hangs takes the transfer with it.
Status Finish(Machine& machine, DeviceId device, std::unique_ptr<Transfer>& transfer) {
  PT_ASSIGN(const bool idle, transfer->stream().Synchronize(SessionOptions().device_grace));
  if (idle) return {};
  LostDevices& lost = machine.lost_devices();
  lost.Mark(device);
  lost.Keep(std::move(transfer));
  return DeviceHung(machine.platform().device(device).name, "did not finish a copy in time");
}

}  // namespace

LentBuffer::LentBuffer(Machine& machine, LentTensor tensor, std::unique_ptr<DeviceBuffer> memory)
    : machine_(&machine), tensor_(std::move(tensor)), memory_(std::move(memory)) {}

Result<LentBuffer> LentBuffer::Make(Machine& machine, DeviceId device, DataType type, std::vector<int64_t> dims) {
  if (BitsOf(type) == 0) {
    return MakeError(ErrorCode::kUnsupported, "lent_buffer.type",
                     "tensors of type " + std::string(DataTypeName(type)) + " cannot be exchanged with a run");
  }
  PT_ASSIGN(const TensorLayout layout, DenseLayout(type, dims, RowMajor(dims.size())));
  PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
  PT_ASSIGN(std::unique_ptr<DeviceBuffer> memory, machine.driver(device).Allocate(bytes));
  LentTensor tensor{type, std::move(dims), memory->data(), bytes, device};
  return LentBuffer(machine, std::move(tensor), std::move(memory));
}

Status LentBuffer::Write(std::span<const std::byte> bytes) {
  if (bytes.size() != tensor_.bytes) {
    return MakeError(
        ErrorCode::kInvalidInput, "lent_buffer.size",
        "the tensor has " + std::to_string(tensor_.bytes) + " bytes, " + std::to_string(bytes.size()) + " were given");
  }
  if (bytes.empty()) return {};
  if (IsHost(tensor_.device)) {
    std::memcpy(tensor_.data, bytes.data(), bytes.size());
    return {};
  }
  DeviceDriver& driver = machine_->driver(tensor_.device);
  PT_ASSIGN(std::unique_ptr<Transfer> transfer, Transfer::Make(driver, tensor_.bytes));
  std::memcpy(transfer->pinned(), bytes.data(), bytes.size());
  PT_CHECK_OK(driver.EnqueueCopy(transfer->stream(), tensor_.data, transfer->pinned(), tensor_.bytes,
                                 CopyDirection::kToDevice));
  return Finish(*machine_, tensor_.device, transfer);
}

Result<Tensor> LentBuffer::Read() const {
  std::string bytes(tensor_.bytes, '\0');
  if (tensor_.bytes > 0 && IsHost(tensor_.device)) {
    std::memcpy(bytes.data(), tensor_.data, bytes.size());
  } else if (tensor_.bytes > 0) {
    DeviceDriver& driver = machine_->driver(tensor_.device);
    PT_ASSIGN(std::unique_ptr<Transfer> transfer, Transfer::Make(driver, tensor_.bytes));
    PT_CHECK_OK(driver.EnqueueCopy(transfer->stream(), transfer->pinned(), tensor_.data, tensor_.bytes,
                                   CopyDirection::kFromDevice));
    PT_CHECK_OK(Finish(*machine_, tensor_.device, transfer));
    std::memcpy(bytes.data(), transfer->pinned(), bytes.size());
  }
  return Tensor::FromBytes(tensor_.type, tensor_.dims, std::move(bytes));
}

}  // namespace pt
