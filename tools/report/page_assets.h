// page.css and page.js as text: CMake writes page_assets.cc from them.
#pragma once

#include <string_view>

namespace pt::tools {

extern const std::string_view kPageStyle, kPageScript;

}  // namespace pt::tools
