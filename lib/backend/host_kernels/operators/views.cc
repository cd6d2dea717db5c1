// Operators that change what a tensor is called, not its elements, where these are float32 stored as bfloat16: else
// changes of form would surround what the reference library leaves where it lies.
#include <array>

#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/operators/boxes.h"

namespace pt::host {
namespace {

bool IsDense(const HostOperand& operand) {
  Walk<1> walk;
  for (size_t d = operand.dims().size(); d-- > 0;) walk.Push(operand.dims()[d], {operand.strides()[d]});
  return walk.is_contiguous() || operand.count() == 0;
}

Result<HostRoutine> View(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  if (site.has(1) && !site.is_constant(1)) return site.Unsupported("its dims or axes are known only at run time");
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (!site.is_shortened(x) || !site.is_shortened(y)) return site.Unsupported("nothing is stored as bfloat16");
  if (x.count() != y.count() || !IsDense(x) || !IsDense(y)) return site.Unsupported("its elements have gaps");
  for (size_t i = 1; i < site.out.size(); ++i) {
    if (site.out[i].present()) return site.Unsupported("it has more than one output");
  }
  Box box;
  box.dims.push_back({x.count(), 1, 1});
  HostRoutine routine = RoutineOf(site, {box});
  routine.elision = Elision::kViewOfInput;
  return routine;
}

constexpr std::array kViewOperators = {
    HostRow{"Flatten", View}, HostRow{"Identity", View},  HostRow{"Reshape", View},
    HostRow{"Squeeze", View}, HostRow{"Unsqueeze", View},
};

}  // namespace

std::span<const HostRow> ViewOperators() { return kViewOperators; }

}  // namespace pt::host
