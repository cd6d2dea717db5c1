// The domains that the rewriting of operators of ONNX Runtime works with.
#pragma once

namespace pt::contrib {

constexpr const char* kDomain = "com.microsoft";
// Of nodes that replace others, in operators of opset kTargetOpset while the model's own may be of another.
constexpr const char* kSpelledOutDomain = "pt.spelled_out";

}  // namespace pt::contrib
