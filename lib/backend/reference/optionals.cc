// Optional, OptionalGetElement, OptionalHasElement, and Identity of values of all kinds. An optional value that holds
// something is that: what tells it apart is the type that the model gives it.
#include <array>

#include "lib/backend/reference/datum_operator.h"

namespace pt::reference {
namespace {

// Input 0, whatever it is, to be kept beyond the call.
Result<Datum> KeepWhole(const DatumCall& call) {
  if (!call.borrowed[0]) return *call.in[0];
  PT_ASSIGN(TensorPtr tensor, call.Keep(0));
  return Datum(std::move(tensor));
}

Status Identity(DatumCall& call) {
  if (!call.has(0)) return call.Invalid("has no input");
  PT_ASSIGN(call.out[0], KeepWhole(call));
  return {};
}

Status Optional(DatumCall& call) {
  if (!call.has(0)) return {};  // nothing, of the type that an attribute says
  PT_ASSIGN(call.out[0], KeepWhole(call));
  return {};
}

Status OptionalGetElement(DatumCall& call) {
  if (!call.has(0) || call.in[0]->kind() == Datum::Kind::kNothing) {
    return call.Invalid("its input holds nothing");
  }
  PT_ASSIGN(call.out[0], KeepWhole(call));
  return {};
}

Status OptionalHasElement(DatumCall& call) {
  const bool holds = call.has(0) && call.in[0]->kind() != Datum::Kind::kNothing;
  PT_ASSIGN(Tensor answer, Tensor::FromBytes(DataType::kBool, {}, std::string(1, holds ? '\1' : '\0')));
  call.out[0] = Datum(std::move(answer));
  return {};
}

constexpr std::array kOptionalOperators = {
    DatumOperator{"Identity", Identity},
    DatumOperator{"Optional", Optional},
    DatumOperator{"OptionalGetElement", OptionalGetElement},
    DatumOperator{"OptionalHasElement", OptionalHasElement},
};

}  // namespace

std::span<const DatumOperator> OptionalOperators() { return kOptionalOperators; }

}  // namespace pt::reference
