// libonnx's converter between opsets behind a door of its own: its header is a thousand lines of inline code that every
// file that sees it compiles again.
#pragma once

#include <cstdint>

#include "lib/onnx/fence.h"

namespace pt {

class VersionConverter {
 public:
  // Between two opsets of the default domain, in either direction.
  VersionConverter(int64_t from, int64_t to) : from_(from), to_(to) {}

  // Throws what libonnx throws.
  proto::ModelProto Convert(const proto::ModelProto& model) const;

 private:
  int64_t from_, to_;
};

}  // namespace pt
