// Which nodes call functions of the model, and what all calls together stand for: known before anything is expanded,
// because a kilobyte can stand for more nodes than any memory holds.
#pragma once

#include <string>
#include <tuple>

#include "lib/onnx/fence.h"
#include "partitiontuner/support/limits.h"

namespace pt {

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

FunctionKey KeyOf(const proto::FunctionProto& function);
FunctionKey KeyOf(const proto::NodeProto& node);           // of what it calls, if it calls anything
std::string NameOf(const proto::FunctionProto& function);  // "domain.name", with the overload behind if it has one

// Calls are expanded recursively; chains deeper than this would lean on the size of the stack.
constexpr int kDeepestCalls = 256;

// Errors: recursion, more nodes than limits.nodes, calls nested too deep, a function defined twice.
Status CheckCalls(const proto::ModelProto& model, const Limits& limits);

}  // namespace pt
