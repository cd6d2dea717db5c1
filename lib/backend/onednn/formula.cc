#include "lib/backend/onednn/formula.h"

#include <algorithm>

namespace pt::onednn {
namespace {

using Polynomial = Formula::Polynomial;
using Function = Formula::Function;

constexpr double kSmallest = 1e-4, kLargest = 1e4;  // of constants: no sum, square or cube of them leaves float's range

bool Sane(const Polynomial& p) {
  return std::all_of(p.begin(), p.end(),
                     [](double c) { return c == 0 || (std::abs(c) >= kSmallest && std::abs(c) <= kLargest); });
}
bool IsZero(const Polynomial& p) {
  return std::all_of(p.begin(), p.end(), [](double c) { return c == 0; });
}
bool IsLinear(const Polynomial& p) { return p[2] == 0 && p[3] == 0; }

// Terms of opposite signs would leave what rounding made of them.
bool AddTo(Polynomial& sum, const Polynomial& more) {
  for (size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] * more[i] < 0) return false;
    sum[i] += more[i];
  }
  return true;
}

bool AddProductTo(Polynomial& sum, const Polynomial& a, const Polynomial& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0) continue;
    Polynomial row{};
    for (size_t j = 0; j < b.size(); ++j) {
      if (b[j] == 0) continue;
      if (i + j >= row.size()) return false;
      row[i + j] = a[i] * b[j];
    }
    if (!AddTo(sum, row)) return false;
  }
  return true;
}

bool SameFunction(const Formula& a, const Formula& b) {
  return a.function == b.function && Near(a.argument, b.argument) &&
         (a.function != Function::kClip || (Near(a.low, b.low) && Near(a.high, b.high)));
}

void TakeFunction(Formula& to, const Formula& from) {
  to.function = from.function;
  to.argument = from.argument;
  to.low = from.low;
  to.high = from.high;
}

// Drops a function that nothing is multiplied with; nullopt for constants out of range.
MaybeFormula Checked(Formula formula) {
  if (!Sane(formula.plain) || !Sane(formula.times)) return std::nullopt;
  if (IsZero(formula.times)) TakeFunction(formula, Formula());
  return formula;
}

MaybeFormula OneFunction(Function function, const Polynomial& argument) {
  Formula formula;
  formula.function = function;
  formula.argument = argument;
  formula.times[0] = 1;
  return formula;
}

bool IsBareFunction(const Formula& a, Function function) {
  return a.function == function && IsZero(a.plain) && a.times == Polynomial{1, 0, 0, 0};
}

}  // namespace

Formula Formula::X() {
  Formula formula;
  formula.plain[1] = 1;
  return formula;
}

MaybeFormula Formula::Constant(double value) {
  Formula formula;
  formula.plain[0] = value;
  return Checked(formula);
}

bool Formula::is_constant() const { return function == Function::kNone && IsLinear(plain) && plain[1] == 0; }

MaybeFormula Sum(const Formula& a, const Formula& b) {
  const bool both = a.function != Function::kNone && b.function != Function::kNone;
  if (both && !SameFunction(a, b)) return std::nullopt;
  Formula sum = a;
  if (!both && b.function != Function::kNone) TakeFunction(sum, b);
  if (!AddTo(sum.plain, b.plain) || !AddTo(sum.times, b.times)) return std::nullopt;
  return Checked(sum);
}

MaybeFormula Product(const Formula& a, const Formula& b) {
  if (a.function != Function::kNone && b.function != Function::kNone) return std::nullopt;
  Formula product;
  TakeFunction(product, a.function != Function::kNone ? a : b);
  if (!AddProductTo(product.plain, a.plain, b.plain) || !AddProductTo(product.times, a.times, b.plain) ||
      !AddProductTo(product.times, a.plain, b.times)) {
    return std::nullopt;
  }
  return Checked(product);
}

MaybeFormula Scaled(const Formula& a, double factor) {
  const MaybeFormula constant = Formula::Constant(factor);
  return constant ? Product(a, *constant) : std::nullopt;
}

// 1 / (c·(1 + exp(p))) = sigmoid(-p) / c
MaybeFormula Inverse(const Formula& a) {
  if (a.is_constant() && a.plain[0] != 0) return Formula::Constant(1 / a.plain[0]);
  const double c = a.plain[0];
  const bool one_plus_exp =
      a.function == Function::kExp && c != 0 && IsLinear(a.plain) && a.plain[1] == 0 && Near(a.times, {c, 0, 0, 0});
  if (!one_plus_exp) return std::nullopt;
  Polynomial negative = a.argument;
  for (double& coefficient : negative) coefficient = -coefficient;
  const MaybeFormula sigmoid = OneFunction(Function::kSigmoid, negative);
  return Scaled(*sigmoid, 1 / c);
}

MaybeFormula Power(const Formula& a, double exponent) {
  if (exponent == -1) return Inverse(a);
  if (exponent != 1 && exponent != 2 && exponent != 3) return std::nullopt;
  MaybeFormula power = a;
  for (int i = 1; power && i < exponent; ++i) power = Product(*power, a);
  return power;
}

// clip(a + b·f, low, high) = a + b·clip(f, (low - a) / b, (high - a) / b) where f is x or a clip of it.
MaybeFormula Clipped(const Formula& a, double low, double high) {
  if (!(low <= high)) return std::nullopt;
  const bool again = a.function == Function::kClip;
  if (!again && a.function != Function::kNone) return std::nullopt;
  const double shift = a.plain[0], factor = again ? a.times[0] : a.plain[1];
  const bool linear =
      again ? a.plain[1] == 0 && IsLinear(a.plain) && Near(a.times, {factor, 0, 0, 0}) : IsLinear(a.plain);
  if (!linear || factor == 0) return std::nullopt;
  Formula clip;
  clip.function = Function::kClip;
  clip.low = (low - shift) / factor;
  clip.high = (high - shift) / factor;
  if (factor < 0) std::swap(clip.low, clip.high);
  if (again) {
    clip.low = std::max(clip.low, a.low);
    clip.high = std::min(clip.high, a.high);
    if (!(clip.low <= clip.high)) return std::nullopt;
  }
  clip.plain[0] = shift;
  clip.times[0] = factor;
  return clip;
}

MaybeFormula Applied(Function function, const Formula& a) {
  if (function == Function::kTanh && IsBareFunction(a, Function::kSoftplus)) {
    return OneFunction(Function::kTanhSoftplus, a.argument);
  }
  if (a.function != Function::kNone || a.is_constant()) return std::nullopt;
  return OneFunction(function, a.plain);
}

bool Near(double a, double b) {
  constexpr double kTolerance = 1e-6;
  // Nothing but an infinity is near an infinity: the tolerance would be one too.
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

bool Near(const Polynomial& a, const Polynomial& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](double l, double r) { return Near(l, r); });
}

}  // namespace pt::onednn
