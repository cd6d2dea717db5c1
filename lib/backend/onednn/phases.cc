#include "lib/backend/onednn/phases.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pt::onednn {
namespace {

// A phase by itself; no taps where its results see none.
PhaseGroup Alone(const TransposedDim& dim, int64_t residue) {
  PhaseGroup group;
  const int64_t common = std::gcd(dim.stride, dim.dilation);
  group.tap_step = dim.stride / common;
  group.dilation = dim.dilation / common;
  const int64_t wanted = (residue + dim.pad) % dim.stride;
  int64_t first = 0;  // of tap_step taps in a row no two meet the same phase
  while (first < std::min(dim.kernel, group.tap_step) && first * dim.dilation % dim.stride != wanted) ++first;
  if (first == std::min(dim.kernel, group.tap_step)) return group;
  group.taps = (dim.kernel - 1 - first) / group.tap_step + 1;
  const int64_t shift = (residue + dim.pad) / dim.stride - (first * dim.dilation - wanted) / dim.stride;
  group.phases = {{residue, (dim.out - 1 - residue) / dim.stride + 1, first, shift}};
  return group;
}

// All places of the group's results, and as many more as the convolution needs: it can leave out no input.
void SetPlaces(PhaseGroup& group, int64_t in) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  for (const Phase& phase : group.phases) {
    first = std::min(first, phase.shift);
    last = std::max(last, phase.shift + phase.count - 1);
  }
  last = std::max(last, in - 1);
  const int64_t reach = (group.taps - 1) * group.dilation;
  group.first_place = std::min(first, reach);
  group.places = last - group.first_place + 1;
  group.pad_begin = reach - group.first_place;
  group.pad_end = last - (in - 1);
}

// Some window lies in the padding alone, or steps over what there is: oneDNN 3.7.2 crashes there now and then.
bool MissesInput(const PhaseGroup& group, int64_t in) {
  for (int64_t place = 0; place < group.places; ++place) {
    bool meets = false;
    for (int64_t tap = 0; tap < group.taps && !meets; ++tap) {
      const int64_t at = place - group.pad_begin + tap * group.dilation;
      meets = at >= 0 && at < in;
    }
    if (!meets) return true;
  }
  return false;
}

bool MayShare(const PhaseGroup& group, const PhaseGroup& alone, PhaseSharing sharing) {
  const Phase &a = group.phases.front(), &b = alone.phases.front();
  if (sharing == PhaseSharing::kNone || group.taps != alone.taps) return false;
  return sharing == PhaseSharing::kMost || (a.shift == b.shift && a.count == b.count);
}

// Multiplications, with those of lanes that no filter fills. Every convolution counts for some more.
double ArithmeticOf(const std::vector<std::vector<PhaseGroup>>& groups, int64_t in_channels, int64_t out_channels,
                    int64_t lanes) {
  constexpr double kOfAnyCall = 1e5;
  std::vector<size_t> sizes;
  for (const auto& of_dim : groups) sizes.push_back(of_dim.size());
  double sum = 0;
  ForEachChoice(sizes, [&](const std::vector<size_t>& choice) {
    double filters = static_cast<double>(out_channels), of_filter = static_cast<double>(in_channels);
    for (size_t d = 0; d < choice.size(); ++d) {
      const PhaseGroup& group = groups[d][choice[d]];
      filters *= static_cast<double>(group.phases.size());
      of_filter *= static_cast<double>(group.taps) * static_cast<double>(group.places);
    }
    const double vectors = static_cast<double>((static_cast<int64_t>(filters) + lanes - 1) / lanes);
    sum += vectors * static_cast<double>(lanes) * of_filter + kOfAnyCall;
  });
  return sum;
}

}  // namespace

std::vector<PhaseGroup> PhaseGroupsOf(const TransposedDim& dim, PhaseSharing sharing) {
  std::vector<PhaseGroup> groups;
  for (int64_t residue = 0; residue < std::min(dim.stride, dim.out); ++residue) {
    PhaseGroup alone = Alone(dim, residue);
    if (alone.phases.empty()) return {};
    const auto shared =
        std::ranges::find_if(groups, [&](const PhaseGroup& group) { return MayShare(group, alone, sharing); });
    if (shared == groups.end()) {
      groups.push_back(std::move(alone));
    } else {
      shared->phases.push_back(alone.phases.front());
    }
  }
  for (PhaseGroup& group : groups) {
    SetPlaces(group, dim.in);
    if (MissesInput(group, dim.in)) return {};
  }
  return groups;
}

std::vector<PhaseSharing> BestSharing(const std::vector<TransposedDim>& dims, int64_t in_channels, int64_t out_channels,
                                      int64_t lanes) {
  std::vector<PhaseSharing> best;
  double least = std::numeric_limits<double>::infinity();
  ForEachChoice(std::vector<size_t>(dims.size(), 2), [&](const std::vector<size_t>& choice) {
    std::vector<PhaseSharing> sharing;
    std::vector<std::vector<PhaseGroup>> groups;
    for (size_t d = 0; d < dims.size(); ++d) {
      sharing.push_back(choice[d] == 0 ? PhaseSharing::kMost : PhaseSharing::kAlike);
      groups.push_back(PhaseGroupsOf(dims[d], sharing[d]));
    }
    const double arithmetic = ArithmeticOf(groups, in_channels, out_channels, lanes);
    if (arithmetic < least) {
      least = arithmetic;
      best = std::move(sharing);
    }
  });
  return best;
}

}  // namespace pt::onednn
