// The domains of operators that are spelled out: ONNX Runtime's own, and ONNX's of classical machine learning.
#pragma once

namespace pt::contrib {

constexpr const char* kDomain = "com.microsoft";
constexpr const char* kMlDomain = "ai.onnx.ml";

}  // namespace pt::contrib
