// What the library is built with, beside its own code.
#pragma once

#include <span>
#include <string_view>

namespace pt::tools {

struct Dependency {
  std::string_view name, version;
};
// Of cmake/BillOfMaterials.cmake, from which the installed bill of materials comes too.
std::span<const Dependency> Dependencies();

}  // namespace pt::tools
