// From a routine to a kernel of the executor's: compiled for the device, its constants in the device's memory.
#pragma once

#include <memory>

#include "plugins/cuda/device.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {

// The driver behind the context; kInternal where it is another backend's.
Result<CudaDriver*> DriverOf(const CompileContext& context);

// The tensor in the device's memory, row-major, shared by all who want it there. type: what real numbers are stored as
// there; undefined: as they are.
Result<std::shared_ptr<DeviceBuffer>> OnDevice(const Tensor& constant, CompileContext& context,
                                               DataType type = DataType::kUndefined);
// The bytes of a tensor's numbers, real ones as that type.
std::string StoredAs(const Tensor& tensor, DataType type);
// All constants of the site, in its order.
Result<std::vector<std::shared_ptr<DeviceBuffer>>> ConstantsOnDevice(const CudaSite& site, CompileContext& context);

Result<std::unique_ptr<Kernel>> CompileRoutine(const CudaSite& site, const CudaRoutine& routine,
                                               CompileContext& context);

}  // namespace pt::cuda
