// libonnx's converter between opsets behind a door of its own: its headers are thousands of lines of inline code that
// every file that sees them compiles again, and making its converter makes every operator's definition there is, which
// takes 14 ms. What goes up to a newer opset takes libonnx's adapters one by one.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/onnx/fence.h"

namespace pt {

// Whether libonnx leaves every node of `op`, of the default domain, as it is between two opsets, since all that changed
// in between allows more. Never so on the way down.
bool StaysAsItIs(std::string_view op, int64_t from, int64_t to);

class VersionConverter {
 public:
  // Between two opsets of the default domain, in either direction.
  VersionConverter(int64_t from, int64_t to) : from_(from), to_(to) {}

  // Of a model without nested graphs where it goes up. Throws what libonnx throws.
  proto::ModelProto Convert(const proto::ModelProto& model) const;

 private:
  int64_t from_, to_;
};

}  // namespace pt
