#include "partitiontuner/plan/plan_precision.h"

namespace pt {

Result<Precision> AllowedPrecision(const Plan& plan) {
  const auto setting = plan.made_for.settings.find("precision");
  if (setting == plan.made_for.settings.end()) return Precision();
  Result<Precision> precision = PrecisionFromText(setting->second);
  if (precision.ok()) return precision;
  return MakeError(ErrorCode::kInvalidInput, "plan.precision", "setting precision: " + precision.error().message);
}

Result<bool> MustKeepNan(const Plan& plan) {
  const auto setting = plan.made_for.settings.find(std::string(kNanSetting));
  if (setting == plan.made_for.settings.end()) return false;
  if (setting->second == kKeepNan) return true;
  return MakeError(ErrorCode::kInvalidInput, "plan.nan", "setting nan is \"" + setting->second + "\"; expected keep");
}

MathMode LoosestMath(const Plan& plan) {
  MathMode loosest = MathMode::kFp32;
  const auto tolerance = [](MathMode mode) { return RelativeTolerance(mode, DataType::kFloat32); };
  for (const Candidate& candidate : plan.candidates) {
    if (tolerance(candidate.math) > tolerance(loosest)) loosest = candidate.math;
  }
  return loosest;
}

}  // namespace pt
