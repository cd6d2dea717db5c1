// libonnx's converter between opsets behind a door of its own: its header is a thousand lines of inline code that every
// file that sees it compiles again.
#pragma once

#include <memory>

#include "lib/onnx/fence.h"

namespace partitiontuner_onnx::version_conversion {
class DefaultVersionConverter;
}

namespace pt {

class VersionConverter {
 public:
  // Between two opsets of the default domain, in either direction.
  VersionConverter(int64_t from, int64_t to);
  ~VersionConverter();

  // Throws what libonnx throws.
  proto::ModelProto Convert(const proto::ModelProto& model) const;

 private:
  int64_t from_, to_;
  std::unique_ptr<proto::version_conversion::DefaultVersionConverter> converter_;
};

}  // namespace pt
