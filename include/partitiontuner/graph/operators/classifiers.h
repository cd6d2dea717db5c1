// What models of ai.onnx.ml say beside their trees (decision_trees.h): labels, transforms of scores, support vectors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// What becomes of the scores: "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO" or "PROBIT", as the file has it.
std::string ReadPostTransform(const Node& node);
// Labels of classes that are integers: of TreeEnsembleClassifier, of SVMClassifier. Empty: they are strings, or
// missing.
std::vector<int64_t> ReadTreeLabels(const Node& node);
std::vector<int64_t> ReadSvmLabels(const Node& node);

enum class SvmKernel : uint8_t { kLinear, kPoly, kRbf, kSigmoid };

// SVMRegressor and SVMClassifier.
struct SvmNode {
  SvmKernel kernel = SvmKernel::kLinear;
  float gamma = 0, coef0 = 0, degree = 0;  // of kernels but the linear one
  std::vector<float> support_vectors, coefficients, rho;
  int64_t supports = 0;    // SVMRegressor: support vectors; 0: the coefficients are those of a linear model
  bool one_class = false;  // SVMRegressor: 1 or -1 by the sign
  std::vector<int64_t> labels, vectors_per_class;  // SVMClassifier
  std::vector<float> prob_a, prob_b;               // SVMClassifier: of probabilities; empty: scores
};
// Errors: kInvalidInput for an unknown kernel, another number of its parameters than three, and a negative number of
// support vectors.
Result<SvmNode> ReadSvm(const Node& node);

}  // namespace pt
