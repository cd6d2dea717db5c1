// Operators' definitions as inference is given them: libonnx's own, with guards where its inference trusts an
// attribute and with inference where it has none, and those of operators of ONNX Runtime that are spelled out.
#pragma once

#include "lib/onnx/fence.h"

namespace ONNX_NAMESPACE {
class ISchemaRegistry;
}

namespace pt {

const proto::ISchemaRegistry& InferenceSchemas();

}  // namespace pt
