// The plugin "openvino": a library that hands groups to OpenVINO. docs/openvino.md.
#include "partitiontuner/backend/plugin.h"

#include "plugins/openvino/fence.h"
#include "plugins/openvino/library.h"

namespace {

std::unique_ptr<pt::Library> MakeLibrary() {
  return std::make_unique<pt::openvino::OpenVinoLibrary>(pt::openvino::Runtime::Get());
}

pt::Backend MakeBackend() {
  return {pt::openvino::kName, {}, {{pt::openvino::kName, "OpenVINO's CPU device on host units", MakeLibrary}}};
}

}  // namespace

PT_PLUGIN(pt::openvino::kName, MakeBackend)
