#include "partitiontuner/backend/backend.h"

namespace pt {
namespace {

Error CannotCapture() {
  return MakeError(ErrorCode::kUnsupported, "stream.capture", "this device cannot capture its streams",
                   "ask DeviceDriver::CanCapture first");
}

}  // namespace

Status Stream::BeginCapture() { return CannotCapture(); }

Result<std::unique_ptr<Executable>> Stream::EndCapture() { return CannotCapture(); }

}  // namespace pt
