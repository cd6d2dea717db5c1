// Two operands to boolean: comparisons and connectives.
#include <array>

#include "lib/backend/reference/elements.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

struct Equal {
  template <typename T>
  static bool Of(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <typename T>
  static bool Of(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <typename T>
  static bool Of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  static bool Of(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <typename T>
  static bool Of(T a, T b) {
    return a >= b;
  }
};
// Booleans are bytes; whatever is not 0 is true.
struct And {
  static bool Of(uint8_t a, uint8_t b) { return a != 0 && b != 0; }
};
struct Or {
  static bool Of(uint8_t a, uint8_t b) { return a != 0 || b != 0; }
};
struct Xor {
  static bool Of(uint8_t a, uint8_t b) { return (a != 0) != (b != 0); }
};
struct SameTruth {
  static bool Of(uint8_t a, uint8_t b) { return (a != 0) == (b != 0); }
};

template <typename F, typename T>
ReferenceRoutine Comparing(const Broadcast<2>& broadcast) {
  return PairRoutine(broadcast, PairingOf<T, uint8_t, F>(0.7));
}

Result<Broadcast<2>> Compared(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  if (site.in[0].type != site.in[1].type) return site.Invalid("its inputs are of different types");
  PT_ASSIGN(const std::vector<int64_t> dims, BroadcastDims(site, site.in));
  PT_CHECK_OK(site.Out(0, DataType::kBool, dims));
  return MakeBroadcast<2>({site.in[0].dims, site.in[1].dims}, dims);
}

template <typename F>
Result<ReferenceRoutine> Comparison(ReferenceSite& site) {
  PT_ASSIGN(const Broadcast<2> broadcast, Compared(site));
  if constexpr (std::is_same_v<F, Equal>) {
    if (site.in[0].type == DataType::kBool) return Comparing<SameTruth, uint8_t>(broadcast);
  }
  return VisitNumbers(site, site.in[0].type,
                      [&]<typename T>() -> Result<ReferenceRoutine> { return Comparing<F, T>(broadcast); });
}

template <typename F>
Result<ReferenceRoutine> Connective(ReferenceSite& site) {
  PT_ASSIGN(const Broadcast<2> broadcast, Compared(site));
  if (site.in[0].type != DataType::kBool) return site.Invalid("its inputs are not booleans");
  return Comparing<F, uint8_t>(broadcast);
}

constexpr std::array kLogicOperators = {
    ReferenceRow{.op = "And", .make = Connective<And>, .since = 7, .in_place = true},
    ReferenceRow{.op = "Or", .make = Connective<Or>, .since = 7, .in_place = true},
    ReferenceRow{.op = "Xor", .make = Connective<Xor>, .since = 7, .in_place = true},
    ReferenceRow{.op = "Equal", .make = Comparison<Equal>, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "Less", .make = Comparison<Less>, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "LessOrEqual", .make = Comparison<LessOrEqual>, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "Greater", .make = Comparison<Greater>, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "GreaterOrEqual", .make = Comparison<GreaterOrEqual>, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> LogicOperators() { return kLogicOperators; }

}  // namespace pt::reference
