// What accelerators the system shows.
#pragma once

#include <string>

namespace pt::onnxruntime {

// Graphics and computing devices on the PCI bus and the versions of their drivers, as one line: "10de:2330, nvidia
// 550.54", in a fixed order; "no device" where there is none. Measurements depend on them, and ONNX Runtime's C API
// does not name what its providers run on. system: where the system shows itself.
std::string AcceleratorsOf(const std::string& system = "/sys");

}  // namespace pt::onnxruntime
