#include "plugins/cuda/libraries.h"

#include "plugins/cuda/device.h"

namespace pt::cuda {

bool IsCuda(const Platform& platform, DeviceId device) { return platform.device(device).kind == kDeviceKind; }

std::vector<UnitClassId> ComputingClasses(const Platform& platform) {
  std::vector<bool> computes(platform.unit_classes.size(), false);
  for (const Unit& unit : platform.units) {
    const UnitClassId unit_class = unit.unit_class;
    computes[unit_class.index()] = !unit.link && IsCuda(platform, platform.unit_class(unit_class).device);
  }
  std::vector<UnitClassId> classes;
  for (uint32_t c = 0; c < computes.size(); ++c) {
    if (computes[c]) classes.push_back(UnitClassId(c));
  }
  return classes;
}

std::vector<Form> FormsOf(std::span<const CudaOperand> operands) {
  std::vector<Form> forms;
  for (const CudaOperand& operand : operands) {
    if (operand.constant == nullptr) forms.push_back({operand.layout.layout, operand.type()});
  }
  return forms;
}

std::vector<Candidate> RowMajorCandidates(const CudaSite& site, std::string_view library,
                                          std::span<const UnitClassId> classes, uint64_t scratch_bytes) {
  Candidate candidate = RowMajorCandidate(site.graph, site.nodes, library);
  candidate.scratch_bytes = scratch_bytes;
  for (const CudaOperand& operand : site.in) {
    if (operand.constant != nullptr) candidate.constant_bytes += operand.constant->bytes().size();
  }
  std::vector<Candidate> candidates(classes.size(), candidate);
  for (size_t c = 0; c < classes.size(); ++c) candidates[c].unit_class = classes[c];
  return candidates;
}

}  // namespace pt::cuda
