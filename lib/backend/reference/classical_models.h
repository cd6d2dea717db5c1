// What the models of ai.onnx.ml that take rows of features have in common.
#pragma once

#include <cmath>

#include "lib/backend/reference/operator.h"

namespace pt::reference {

// Input 0, row-major.
struct FeatureRows {
  DataType type;
  int64_t count, features;
};
// Of dims [rows, features], or [features], which is one row. kInvalidInput for other ranks.
Result<FeatureRows> FeatureRowsOf(const ReferenceSite& site);
// kUnsupported unless input 0 is of float32, float64, int32 or int64.
Status NeedFeatureType(const ReferenceSite& site);

// kUnsupported for a post_transform: they are spelled out when a model loads, except those that a kernel computes.
Status NeedNoTransform(const ReferenceSite& site);

inline double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace pt::reference
