// Operators of ONNX Runtime's own domain that its tools write into models, and of ai.onnx.ml. Each is spelled out in
// operators of ONNX when the model loads, so that nothing behind the loader hears of them. Which ones there are and
// what is taken of each stands in the tables of lib/onnx/contrib.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "lib/onnx/fence.h"
#include "partitiontuner/support/limits.h"

namespace ONNX_NAMESPACE {
class OpSchema;
}

namespace pt {

class ModelTensors;

// ONNX Runtime also writes operators into the default domain that ONNX does not define there, or not at the model's
// opset: these move to ONNX Runtime's domain, before libonnx's checker sees them.
void MoveStrayContrib(proto::ModelProto& model);

// Whether any graph of the model has an operator of these domains that SpellOut spells out.
bool UsesContrib(const proto::ModelProto& model);
// The same of operators of ONNX that libonnx does not convert rightly to opset `to` (old_operators.h).
bool UsesOldOperators(const proto::ModelProto& model, int64_t to);

// What inference needs of these operators, by domain and name: the types of their outputs.
std::map<std::pair<std::string, std::string>, proto::OpSchema> ContribSchemas();

// Spells operators of both kinds out in those of opset kTargetOpset, whatever the model's is: the new nodes stand in
// that opset's domain (OpsetDomain) until ConvertOpset. Types must have been inferred as far as possible. Sorted nodes
// stay sorted. Errors name the node: kInvalidInput for inputs, outputs or attributes that the operator does not have,
// needs, or has otherwise, and for more nodes than the limit; kUnsupported for what is not spelled out, with the
// reason. The model is then to be thrown away.
Status SpellOut(proto::ModelProto& model, ModelTensors& tensors, const Limits& limits, int64_t to);

}  // namespace pt
