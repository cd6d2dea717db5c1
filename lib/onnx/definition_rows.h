// All definitions of operators that libonnx has for ai.onnx and ai.onnx.ml, one row a version, in no order.
#pragma once

#include <onnx/defs/schema.h>

#include <span>
#include <string_view>

#include "lib/onnx/fence.h"

namespace pt {

struct DefinitionRow {
  std::string_view domain, op;
  int version = 0;  // of its domain, in which the definition came
  proto::OpSchema (*make)() = nullptr;
};

std::span<const DefinitionRow> DefinitionRows();

}  // namespace pt
