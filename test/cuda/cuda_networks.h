// Small networks of several kinds that run on a CUDA device alone.
#pragma once

#include <string>
#include <vector>

#include "test/cuda/cuda_machine.h"

namespace pt::testing {

// A convolutional network, an encoder whose attention is spelled out, a decoder whose attention is the operator, and a
// recurrent network, as text of graph_text.h.
std::vector<std::string> NetworkTexts();
// A convolutional network on 8-bit integers, whose scales are powers of two.
std::string QuantisedNetworkText();

// As planning sees it, behind the passes.
Graph Simplified(const Graph& graph);
// Compiles the own kernels of all these candidates at once: the compiler is what takes time.
void CompileKernels(const Graph& graph, const std::vector<Candidate>& candidates);

// The search's plan on the device alone, where every kernel takes the same time: as few as can be, and those of less
// than fp32 where the precision allows them.
Plan PlanOnDevice(const CudaMachine& machine, const Precision& precision);

// Runs the plan, captured and not, and checks the outputs against the reference library. math: that some of its steps
// compute in.
void CheckNetwork(const CudaMachine& machine, const Plan& plan, MathMode math);

}  // namespace pt::testing
