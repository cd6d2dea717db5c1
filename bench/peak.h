// What this processor computes at most: fused multiply-adds of float32 vectors in registers, nothing else.
#pragma once

namespace pt::bench {

// GFLOP/s of the calling core, an FMA counted as two; the best of several stretches of some milliseconds.
double PeakGflops();

}  // namespace pt::bench
