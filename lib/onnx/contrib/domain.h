// The domain of operators of ONNX Runtime.
#pragma once

namespace pt::contrib {

constexpr const char* kDomain = "com.microsoft";

}  // namespace pt::contrib
