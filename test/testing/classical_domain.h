// The domain of classical machine learning, in the version that tests draw and write.
#pragma once

#include <cstdint>
#include <string_view>

namespace pt::testing {

inline constexpr std::string_view kClassicalDomain = "ai.onnx.ml";
inline constexpr int64_t kClassicalVersion = 4;

}  // namespace pt::testing
