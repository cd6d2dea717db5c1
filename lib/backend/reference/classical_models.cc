#include "lib/backend/reference/classical_models.h"

#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/classifiers.h"

namespace pt::reference {

Result<FeatureRows> FeatureRowsOf(const ReferenceSite& site) {
  const TensorFacts& x = site.in[0];
  if (x.dims.size() == 1) return FeatureRows{x.type, 1, x.dims[0]};
  if (x.dims.size() == 2) return FeatureRows{x.type, x.dims[0], x.dims[1]};
  return site.Invalid("its input does not have dims [rows, features] or [features]");
}

Status NeedFeatureType(const ReferenceSite& site) {
  switch (const DataType type = site.in[0].type) {
    case DataType::kFloat32:
    case DataType::kFloat64:
    case DataType::kInt32:
    case DataType::kInt64:
      return {};
    default:
      return UnsupportedType(site, type);
  }
}

Status NeedNoTransform(const ReferenceSite& site) {
  const std::string transform = ReadPostTransform(site.node);
  return transform == "NONE" ? Status() : site.Unsupported("is not supported with post_transform " + transform);
}

}  // namespace pt::reference
