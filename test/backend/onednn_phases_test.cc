// Transposed convolutions by phases: right at every kernel, stride, pad, group and rank, and never less exact about
// what is not finite.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "lib/backend/onednn/kernel_descriptor.h"
#include "lib/backend/onednn/phases.h"
#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_phases_test {
namespace {

using onednn::PhaseGroup;
using onednn::PhaseSharing;
using onednn::TransposedDim;

bool IsByPhases(const Candidate& candidate) { return candidate.variant.ends_with("+phases"); }

std::string Text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

// Runs every candidate of ConvTranspose, alone and with what follows; how many of them are by phases.
int CheckTransposed(Lab& lab) {
  int by_phases = 0;
  for (const Candidate& candidate : lab.AllCandidates()) {
    if (lab.OperatorsOf(candidate).find("ConvTranspose") == std::string::npos) continue;
    INFO(lab.OperatorsOf(candidate) << " " << candidate.variant << " on unit class " << candidate.unit_class.value);
    CHECK(lab.Error(candidate, lab.Run(candidate, NAN)) < 2e-5);
    if (IsByPhases(candidate)) ++by_phases;
  }
  return by_phases;
}

// A transposed convolution drawn at random.
struct Drawn {
  std::string text;
  bool by_phases = true;  // every result sees some input, and the image has several pixels a dim
};

Drawn DrawTransposed(std::mt19937& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const auto rank = static_cast<size_t>(draw(1, 3));
  const int64_t groups = draw(0, 3) == 0 ? draw(2, 4) : 1, channels[] = {1, 2, 3, 5, 8, 16, 17};
  std::vector<int64_t> in{draw(1, 3), groups * channels[draw(0, 6)]}, weights{in[1], channels[draw(0, 6)]}, kernel,
      strides, dilations, begin, end, padding, shape;
  const int64_t mode = draw(0, 5);
  Drawn drawn;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t k = draw(1, 5), s = draw(1, 4), dilation = draw(1, 2), extra = mode == 0 ? draw(0, s - 1) : 0;
    in.push_back(draw(1, rank == 3 ? 5 : 9));
    const int64_t full = (in.back() - 1) * s + (k - 1) * dilation + 1 + extra;
    const int64_t first = std::min(draw(0, 4), full - 1), last = std::min(draw(0, 4), full - 1 - first);
    kernel.push_back(k);
    strides.push_back(s);
    dilations.push_back(dilation);
    begin.push_back(first);
    end.push_back(last);
    padding.push_back(extra);
    shape.push_back(std::max<int64_t>(1, full - draw(0, 3)));
    drawn.by_phases = drawn.by_phases && k >= s && dilation == 1 && extra == 0 && in.back() > 1;
  }
  weights.insert(weights.end(), kernel.begin(), kernel.end());
  std::string attributes = " strides=" + Text(strides) + " dilations=" + Text(dilations);
  if (groups > 1) attributes += " group=" + std::to_string(groups);
  if (mode == 0) attributes += " output_padding=" + Text(padding);
  begin.insert(begin.end(), end.begin(), end.end());
  if (mode <= 2) attributes += " pads=" + Text(begin);
  if (mode == 3) attributes += " output_shape=" + Text(shape);
  if (mode == 4) attributes += draw(0, 1) == 0 ? " auto_pad=\"SAME_UPPER\"" : " auto_pad=\"SAME_LOWER\"";
  if (mode == 5) attributes += " auto_pad=\"VALID\"";
  const bool bias = draw(0, 1) == 0;
  const std::string outputs = std::to_string(weights[1] * groups);
  drawn.text = "input x float32" + Text(in) + "\nconst w float32" + Text(weights) + " random 1\nconst b float32[" +
               outputs + "] random 2\nc = ConvTranspose(x, w" + (bias ? ", b" : "") + ")" + attributes +
               "\ny = Relu(c)\noutput y\n";
  return drawn;
}

}  // namespace

TEST_CASE("Phases, EveryTransposedConvolutionEqualsTheReference", "[backend]") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 150; ++round) {
    const Drawn drawn = DrawTransposed(random);
    INFO(drawn.text);
    Lab lab(GraphOf(drawn.text), seed);
    const int by_phases = CheckTransposed(lab);
    if (!drawn.by_phases) continue;
    CHECK(by_phases > 0);
  }
}

TEST_CASE("Phases, DecodersAndVocodersAreComputedSo", "[backend]") {
  for (const char* text :
       {"input x float32[1,64,14,14]\nconst w float32[64,32,4,4] random 1\nc = ConvTranspose(x, w) strides=[2,2] "
        "pads=[1,1,1,1]\n",
        "input x float32[1,32,9,7]\nconst w float32[32,16,3,3] random 1\nc = ConvTranspose(x, w) strides=[2,2] "
        "pads=[1,1,1,1] output_padding=[1,1]\n",
        "input x float32[1,64,30]\nconst w float32[64,32,16] random 1\nc = ConvTranspose(x, w) strides=[8] "
        "pads=[4,4]\n",
        "input x float32[1,16,5,33]\nconst w float32[16,8,1,5] random 1\nc = ConvTranspose(x, w) strides=[1,2] "
        "pads=[0,2,0,2] group=2\n",
        "input x float32[2,16,4,5,6]\nconst w float32[16,16,4,3,2] random 1\nc = ConvTranspose(x, w) strides=[2,2,1] "
        "pads=[1,1,0,1,0,1]\n"}) {
    const std::string whole =
        std::string(text) + "const ch float32[1] random 3\na = Add(c, ch)\ny = LeakyRelu(a) alpha=0.2\noutput y\n";
    INFO(whole);
    Lab lab(GraphOf(whole));
    CHECK(CheckTransposed(lab) > 0);
  }
}

// What another operand follows, and what computed weights come to, is for others.
TEST_CASE("Phases, AreOfferedWithConstantWeightsOnly", "[backend]") {
  Lab lab(
      GraphOf("input x float32[1,16,8,8]\ninput w float32[16,16,4,4]\ny = ConvTranspose(x, w) strides=[2,2]\n"
              "output y\n"));
  CHECK(CheckTransposed(lab) == 0);
  Lab other(
      GraphOf("input x float32[1,16,4,4]\nconst w float32[16,16,4,4] random 1\ninput r float32[1,16,8,8]\n"
              "c = ConvTranspose(x, w) strides=[2,2] pads=[1,1,1,1]\ny = Add(c, r)\noutput y\n"));
  for (const Candidate& candidate : other.CandidatesOf("ConvTranspose+Add")) CHECK_FALSE(IsByPhases(candidate));
  CHECK(CheckTransposed(other) > 0);
}

// No filter is filled up with zeros, which would make NaN of an infinity that the result does not see.
TEST_CASE("Phases, WhatIsNotFiniteGoesWhereTheReferenceHasIt", "[backend]") {
  for (const char* node :
       {"const w float32[16,16,3,3] random 1\ny = ConvTranspose(x, w) strides=[2,2] pads=[1,1,1,1] "
        "output_padding=[1,1]\n",
        "const w float32[16,16,4,5] random 1\ny = ConvTranspose(x, w) strides=[2,3] pads=[1,0,1,2]\n",
        "const w float32[16,1,4,4] random 1\ny = ConvTranspose(x, w) strides=[2,2] group=16\n"}) {
    for (const float odd : {NAN, INFINITY, -INFINITY}) {
      Floats pixels(16 * 7 * 6, 0.5F);
      pixels[5 * 42 + 3 * 6 + 2] = odd;
      Lab lab(GraphOf("input x float32[1,16,7,6]\n" + std::string(node) + "output y\n"), pixels);
      int checked = 0;
      for (const Candidate& candidate : lab.CandidatesOf("ConvTranspose")) {
        if (!IsByPhases(candidate)) continue;
        INFO(node << odd << " " << candidate.variant);
        const Floats got = lab.Run(candidate), &want = lab.Expected(GroupOutputs(lab.graph(), candidate.nodes)[0]);
        ++checked;
        for (size_t i = 0; i < want.size(); ++i) {
          if (std::isfinite(want[i]) == std::isfinite(got[i]) && std::isnan(want[i]) == std::isnan(got[i])) continue;
          FAIL("element " << i << " is " << got[i] << " and should be " << want[i]);
        }
      }
      CHECK(checked > 0);
    }
  }
}

TEST_CASE("PhaseGroups, EveryTapOfEveryResultIsSeenOnce", "[backend]") {
  for (int64_t kernel = 1; kernel <= 7; ++kernel) {
    for (int64_t stride = 1; stride <= 5; ++stride) {
      for (int64_t dilation = 1; dilation <= 4; ++dilation) {
        for (int64_t pad = 0; pad <= 6; ++pad) {
          for (const PhaseSharing sharing : {PhaseSharing::kNone, PhaseSharing::kAlike, PhaseSharing::kMost}) {
            const TransposedDim dim{6, 11, kernel, stride, dilation, pad};
            INFO(kernel << " " << stride << " " << dilation << " " << pad << " " << static_cast<int>(sharing));
            // (result, input, tap) as the definition has it: result + pad = input * stride + tap * dilation.
            std::set<std::array<int64_t, 3>> wanted, got;
            bool blind = false;
            for (int64_t o = 0; o < dim.out; ++o) {
              bool sees = false;
              for (int64_t j = 0; j < kernel; ++j) {
                const int64_t at = o + pad - j * dilation;
                if (at < 0 || at % stride != 0 || at / stride >= dim.in) continue;
                sees = true;
                wanted.insert({o, at / stride, j});
              }
              blind = blind || !sees;
            }
            const std::vector<PhaseGroup> groups = onednn::PhaseGroupsOf(dim, sharing);
            if (blind || dilation == 1) CHECK(groups.empty() == blind);
            for (const PhaseGroup& group : groups) {
              CHECK((group.pad_begin >= 0 && group.pad_end >= 0));
              const int64_t reach = (group.taps - 1) * group.dilation;
              CHECK(group.places == dim.in + group.pad_begin + group.pad_end - reach);
              for (const onednn::Phase& phase : group.phases) {
                for (int64_t t = 0; t < phase.count; ++t) {
                  const int64_t place = t + phase.shift - group.first_place;
                  CHECK((place >= 0 && place < group.places));
                  for (int64_t u = 0; u < group.taps; ++u) {
                    const int64_t input = place - group.pad_begin + u * group.dilation;
                    const int64_t tap = phase.first_tap + (group.taps - 1 - u) * group.tap_step;
                    if (input < 0 || input >= dim.in) continue;
                    CHECK(got.insert({phase.residue + t * stride, input, tap}).second);
                  }
                }
              }
            }
            if (!groups.empty()) CHECK(got == wanted);
          }
        }
      }
    }
  }
}

TEST_CASE("OneDnn, ReferenceImplementationsAreKnownByTheirNames", "[backend]") {
  for (const char* slow :
       {"ref:any", "ref", "gemm:ref", "conv:any+ref:any", "x64:gemm:ref", "ref_rnn:any", "jit+ref"}) {
    INFO(slow);
    CHECK(onednn::IsReferenceImplementation(slow));
  }
  for (const char* fast : {"", "jit:avx512_core", "conv:any+jit:avx512_core", "brgconv:avx2", "simple:any", "gemm:jit",
                           "brg_conv_fwd:avx512_core", "prefetch:any", "refined:any", "xref:any", "ncsp:any"}) {
    INFO(fast);
    CHECK_FALSE(onednn::IsReferenceImplementation(fast));
  }
}

}  // namespace pt::onednn_lab::onednn_phases_test
