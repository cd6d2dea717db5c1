// An elementwise expression: operations on registers that hold one tile of a value each. All results have the same
// dims; inputs broadcast to them. What is stored as bfloat16 is computed in float32.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/backend/host_kernels/elementwise/tiles.h"
#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

struct Operation {
  TileFunction function = nullptr;
  std::array<uint32_t, 3> in = {};  // registers
  uint32_t inputs = 0;              // how many of `in` count
  uint32_t out = 0;
  float p = 0, q = 0;
  double work = 0;                             // nanoseconds of one element
  std::shared_ptr<const void> data = nullptr;  // TileCall::data
};

struct Expression {
  std::vector<DataType> registers;  // the site's inputs first, each made by one operation behind them
  std::vector<Operation> operations;
  std::vector<uint32_t> results;  // the registers of the site's outputs
};

// The site's nodes as an expression, or kUnsupported where an operator, types or dims do not fit.
Result<Expression> MakeExpression(const HostSite& site);
Result<HostRoutine> MakeElementwise(const HostSite& site);
// What the expression says, of the site's operands.
Result<HostRoutine> MakeElementwise(const HostSite& site, Expression expression);

// An expression whose elements another kernel computes in stretches of its own, on one core.
struct ElementwisePart {
  uint64_t bytes = 0;  // of memory on each core
  double work = 0;     // nanoseconds of one element
  std::vector<uint32_t> in_place;
  // Once on a core, before any stretch; then elements begin to before end, in row-major order.
  std::function<void(const HostCall&, std::byte*)> enter;
  std::function<void(const HostCall&, std::byte*, int64_t begin, int64_t end)> run;
};
Result<ElementwisePart> MakeElementwisePart(const HostSite& site);

// There is a row for the operator; its types and parameters may still rule it out.
bool IsElementwiseOperator(const Node& node);

}  // namespace pt::host
