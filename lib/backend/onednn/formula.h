// Formula: a function of one number in normal form, so that activations are told by what they compute, not by how they
// are written, and by nothing less than algebra: no points are compared. See
// docs/decisions/0003-edges-of-activations.md.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

namespace pt::onednn {

// A polynomial of x plus a polynomial of x times one function of x, up to third degree. Everything that needs more is
// no activation that oneDNN has. Operations give nullopt if the result is not a formula, and where rounding would make
// the nodes differ from the formula: constants beyond 1e-4…1e4, terms that cancel.
class Formula {
 public:
  enum class Function : uint8_t {
    kNone,
    kSigmoid,  // of the polynomial `argument`, as the next three
    kTanh,
    kErf,
    kExp,
    kSoftplus,
    kTanhSoftplus,
    kClip,  // of x, to low…high
  };
  using Polynomial = std::array<double, 4>;  // by power of x

  Function function = Function::kNone;
  Polynomial argument{};
  double low = 0, high = 0;
  Polynomial plain{}, times{};  // alone, and times the function

  static Formula X();
  static std::optional<Formula> Constant(double value);
  bool is_constant() const;
};

using MaybeFormula = std::optional<Formula>;

MaybeFormula Sum(const Formula& a, const Formula& b);
MaybeFormula Product(const Formula& a, const Formula& b);
MaybeFormula Scaled(const Formula& a, double factor);
MaybeFormula Inverse(const Formula& a);                 // of constants and of c·(1 + exp(p))
MaybeFormula Power(const Formula& a, double exponent);  // -1, 1, 2, 3
MaybeFormula Clipped(const Formula& a, double low, double high);
// Sigmoid, Tanh, Erf, Exp, Softplus.
MaybeFormula Applied(Formula::Function function, const Formula& a);

// Equal up to the rounding of constants that a model may hold in any float form.
bool Near(double a, double b);
bool Near(const Formula::Polynomial& a, const Formula::Polynomial& b);

}  // namespace pt::onednn
