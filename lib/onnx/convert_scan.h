// Scan of opset 8 in terms of later ones.
#pragma once

#include <functional>
#include <string>

#include "lib/onnx/fence.h"

namespace pt {

// Opset 8's Scan takes batches: [batch, steps, …], each entry of which is scanned for itself. That is a Scan over the
// batch around a Scan over the steps, which is what the node becomes. Its body must be converted already. `fresh` makes
// a name that no value has from one to start with. Throws std::runtime_error for what has no equal (entries of
// different lengths, given as sequence_lens) and for inputs that do not fit the body.
void NestScan(proto::NodeProto& node, const std::function<std::string(const std::string&)>& fresh);

}  // namespace pt
