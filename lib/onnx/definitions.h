// libonnx's definitions of operators, each made when it is first asked for. libonnx's own registry makes all of them,
// more than 600, before it gives out one, which takes 9 ms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/onnx/fence.h"

namespace ONNX_NAMESPACE {
class ISchemaRegistry;
class OpSchema;
}  // namespace ONNX_NAMESPACE

namespace pt {

// All functions: any thread may call them at any time.

// The newest definition of `op` that is not newer than `version`; null when there is none. Lives as long as the
// process.
const proto::OpSchema* DefinitionOf(const std::string& op, int64_t version, const std::string& domain = "");

// In which opset of the default domain that definition came, found without making it; 0 when there is none.
int DefinitionOpset(std::string_view op, int64_t version);

// The same for those who want libonnx's interface.
const proto::ISchemaRegistry& Definitions();

}  // namespace pt
