#include "lib/onnx/version_converter.h"

#include <onnx/version_converter/convert.h>

namespace pt {

VersionConverter::VersionConverter(int64_t from, int64_t to)
    : from_(from), to_(to), converter_(std::make_unique<proto::version_conversion::DefaultVersionConverter>()) {}

VersionConverter::~VersionConverter() = default;

proto::ModelProto VersionConverter::Convert(const proto::ModelProto& model) const {
  return converter_->convert_version(model, proto::OpSetID(from_), proto::OpSetID(to_));
}

}  // namespace pt
