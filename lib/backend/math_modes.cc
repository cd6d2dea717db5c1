#include "lib/backend/math_modes.h"

namespace pt {

bool HasInstructions(const Platform& platform, UnitClassId unit_class, MathMode mode) {
  if (mode == MathMode::kFp32) return true;
  const Device& device = platform.device(platform.unit_class(unit_class).device);
  return mode == MathMode::kBf16 && (device.has_instructions("avx512_bf16") || device.has_instructions("amx_bf16"));
}

Precision ModesWithInstructions(const Platform& platform, std::span<const UnitClassId> unit_classes) {
  Precision modes;
  for (UnitClassId unit_class : unit_classes) {
    for (MathMode mode : kMathModes) {
      if (HasInstructions(platform, unit_class, mode)) modes = modes.with(mode);
    }
  }
  return modes;
}

}  // namespace pt
