#include "partitiontuner/graph/operators/classifiers.h"

#include <array>

#include "lib/graph/operators/lists.h"
#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Error InvalidModel(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.classifier", std::move(why)); }

Result<SvmKernel> ReadKernel(const Node& node) {
  const std::string name = node.string_or("kernel_type", "LINEAR");
  if (name == "LINEAR") return SvmKernel::kLinear;
  if (name == "POLY") return SvmKernel::kPoly;
  if (name == "RBF") return SvmKernel::kRbf;
  if (name == "SIGMOID") return SvmKernel::kSigmoid;
  return InvalidModel(UnknownWord("kernel_type", name, {"LINEAR", "POLY", "RBF", "SIGMOID"}));
}

Status ReadKernelParameters(const Node& node, SvmNode& svm) {
  if (svm.kernel == SvmKernel::kLinear) return {};
  const std::vector<float> numbers = FloatsOf(node, "kernel_params");
  if (numbers.size() != 3) {
    return InvalidModel("kernel_params has " + std::to_string(numbers.size()) +
                        " values; gamma, coef0 and degree are expected");
  }
  svm.gamma = numbers[0];
  svm.coef0 = numbers[1];
  svm.degree = numbers[2];
  return {};
}

}  // namespace

std::string ReadPostTransform(const Node& node) { return node.string_or("post_transform", "NONE"); }

std::vector<int64_t> ReadTreeLabels(const Node& node) { return node.ints_or("classlabels_int64s", {}); }

std::vector<int64_t> ReadSvmLabels(const Node& node) { return node.ints_or("classlabels_ints", {}); }

Result<SvmNode> ReadSvm(const Node& node) {
  SvmNode svm;
  PT_ASSIGN(svm.kernel, ReadKernel(node));
  PT_CHECK_OK(ReadKernelParameters(node, svm));
  svm.support_vectors = FloatsOf(node, "support_vectors");
  svm.coefficients = FloatsOf(node, "coefficients");
  svm.rho = FloatsOf(node, "rho");
  svm.supports = node.int_or("n_supports", 0);
  if (svm.supports < 0) return InvalidModel("n_supports is " + std::to_string(svm.supports));
  svm.one_class = node.int_or("one_class", 0) != 0;
  svm.labels = ReadSvmLabels(node);
  svm.vectors_per_class = node.ints_or("vectors_per_class", {});
  svm.prob_a = FloatsOf(node, "prob_a");
  svm.prob_b = FloatsOf(node, "prob_b");
  return svm;
}

}  // namespace pt
