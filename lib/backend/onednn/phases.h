// A transposed convolution as convolutions. Along a dim of stride s, results that lie s apart see taps of the filter
// that do so too: these results are a phase, and a phase is a convolution of stride 1 with its own taps, turned round.
// Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pt::onednn {

// One dim of a transposed convolution.
struct TransposedDim {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;  // pad: cut off before the first result
};

struct Phase {
  int64_t residue = 0;    // of its results: they stand at residue, residue + stride, …
  int64_t count = 0;      // of them
  int64_t first_tap = 0;  // of the filter; the others follow at the group's steps
  int64_t shift = 0;      // its result t is at place t + shift, and sees input t + shift - m * dilation by its m-th tap
};

// Phases that one convolution computes, of as many taps each, at places in a row. What is not a phase's result is
// dropped.
struct PhaseGroup {
  std::vector<Phase> phases;  // ascending
  int64_t taps = 0, tap_step = 1, dilation = 1;
  int64_t first_place = 0, places = 0;
  int64_t pad_begin = 0, pad_end = 0;  // of the convolution's input
};

enum class PhaseSharing : uint8_t {
  kNone,   // a convolution for each phase
  kAlike,  // for phases whose results stand at the same places
  kMost,   // for phases of as many taps
};

// Of a dim whose stride is at most kMostPhases. Empty where some result, or some other place, sees no input.
inline constexpr int64_t kMostPhases = 64;
std::vector<PhaseGroup> PhaseGroupsOf(const TransposedDim& dim, PhaseSharing sharing);

// By which sharing along each dim the convolutions take least arithmetic, where filters are computed `lanes` at a time.
// channels: of the transposed convolution. There must be groups by every sharing.
std::vector<PhaseSharing> BestSharing(const std::vector<TransposedDim>& dims, int64_t in_channels, int64_t out_channels,
                                      int64_t lanes);

// Calls f with a choice of one element a dim, the last dim's changing first. sizes: how many there are to choose from.
template <typename F>
void ForEachChoice(const std::vector<size_t>& sizes, const F& f) {
  std::vector<size_t> choice(sizes.size(), 0);
  for (bool more = true; more;) {
    f(choice);
    more = false;
    for (size_t d = sizes.size(); d-- > 0 && !more;) {
      more = ++choice[d] < sizes[d];
      if (!more) choice[d] = 0;
    }
  }
}

}  // namespace pt::onednn
