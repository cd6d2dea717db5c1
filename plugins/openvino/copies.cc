#include "plugins/openvino/copies.h"

#include <dlfcn.h>

#include <openvino/core/version.hpp>
#include <string>
#include <string_view>

#include "plugins/openvino/fence.h"

namespace pt::openvino {
namespace {

std::string BuiltFor() {
  return std::to_string(OPENVINO_VERSION_MAJOR) + "." + std::to_string(OPENVINO_VERSION_MINOR) + "." +
         std::to_string(OPENVINO_VERSION_PATCH);
}

// "2026.4.1-22982-…" is of "2026.4.1".
bool IsOf(std::string_view build, std::string_view version) {
  return build.starts_with(version) && (build.size() == version.size() || build[version.size()] == '-');
}

}  // namespace

Status CheckVersion() {
  const ov::Version called = ov::get_openvino_version();
  const std::string build = called.buildNumber == nullptr ? "of no version" : called.buildNumber;
  if (IsOf(build, BuiltFor())) return {};
  Dl_info found;
  const bool known = dladdr(reinterpret_cast<const void*>(&ov::get_openvino_version), &found) != 0;
  Error error = MakeError(ErrorCode::kDeviceUnusable, "openvino.conflict",
                          "the program has loaded OpenVINO " + build +
                              ", which stands before the one that this plugin "
                              "was built for, " +
                              BuiltFor(),
                          "let the program load its own without showing it to all (RTLD_LOCAL), or build the plugin "
                          "for that version");
  if (known && found.dli_fname != nullptr) error.file = found.dli_fname;
  error.device = kName;
  return error;
}

}  // namespace pt::openvino
