// What element-wise operators say: the numbers that the formulas of activations hold, the form of a Gelu, the bounds of
// a Clip, the sign of a Mod, the infinities of an IsInf, the direction of a BitShift.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// alpha and beta as the operator's formula has them, with its defaults: of Celu, Elu, LeakyRelu, SwiGLU, Swish and
// ThresholdedRelu alpha alone; of HardSigmoid both; of Selu alpha and gamma; of Shrink lambd and bias. 0 where there is
// none.
struct ActivationNode {
  float alpha = 0, beta = 0;

  friend bool operator==(const ActivationNode&, const ActivationNode&) = default;
};
ActivationNode ReadActivation(const Node& node);

enum class GeluForm : uint8_t { kErf, kTanh };
// Error: kInvalidInput for an unknown form.
Result<GeluForm> ReadGelu(const Node& node);
bool IsGelu(const Node& node, GeluForm form);

// The bounds that a Clip names as attributes, before operator set 11; infinite where it names none.
struct BoundsNode {
  float low = 0, high = 0;

  friend bool operator==(const BoundsNode&, const BoundsNode&) = default;
};
BoundsNode ReadNamedBounds(const Node& clip);

// Mod: the sign is the dividend's, as C's fmod has it; else the divisor's.
bool IsTruncatedModulo(const Node& node);

// The attributes of IsInf, read and checked.
struct IsInfNode {
  bool negative = true, positive = true;  // which infinities count
};
IsInfNode ReadIsInf(const Node& node);

// BitShift: to the left, else to the right. Error: kInvalidInput for an unknown direction, and without one.
Result<bool> ShiftsLeft(const Node& node);

}  // namespace pt
