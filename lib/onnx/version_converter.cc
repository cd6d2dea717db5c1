#include "lib/onnx/version_converter.h"

#include <onnx/version_converter/convert.h>

namespace pt {

proto::ModelProto VersionConverter::Convert(const proto::ModelProto& model) const {
  // Making one copies every operator definition there is, which takes milliseconds: the first that is needed serves
  // all.
  static const proto::version_conversion::DefaultVersionConverter converter;
  return converter.convert_version(model, proto::OpSetID(from_), proto::OpSetID(to_));
}

}  // namespace pt
