// What rewrites of operators of ai.onnx.ml share: rows of features, transforms of scores, labels of classes. What
// ONNX's text leaves open is as ONNX Runtime has it.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {

constexpr int32_t kFloat = proto::TensorProto::FLOAT;

// Input 0 in float32. Errors when its type is not known.
Result<std::string> AsFloat(Rewrite& r, const std::string& x);
// Input 0 in float32 and two dims, a vector being one row. Errors when its rank is not known, or neither 1 nor 2.
Result<std::string> RowsInFloat(Rewrite& r);

std::string AddFloats(Rewrite& r, std::vector<int64_t> dims, const std::vector<float>& values);

// Keeps the node as it is, for a kernel.
Status Keep(Rewrite& r);

// How post_transform says it; operators that number transforms number them in this order.
constexpr std::array<std::string_view, 5> kTransforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
// The attribute as text. Errors for an unknown one.
Result<std::string> TransformOf(const Rewrite& r);
// Output `output` of scores [rows, classes] of that element type, behind a transform.
void FinishScores(Rewrite& r, int output, const std::string& scores, std::string_view transform,
                  int32_t type = proto::TensorProto::FLOAT);
// Of one score a row: errors (kUnsupported) for transforms but these. ONNX Runtime leaves others out there, ONNX's text
// does not.
Status NeedOneOf(std::string_view transform, std::initializer_list<std::string_view> transforms);

// The labels of a classifier: one of the two attributes.
struct Labels {
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  size_t count() const { return texts.empty() ? ints.size() : texts.size(); }
};
// Errors when both attributes are given, or none.
Result<Labels> LabelsOf(const Rewrite& r, const std::string& texts, const std::string& ints);
// Output 0, the labels at these indices.
Status FinishLabels(Rewrite& r, const Labels& labels, const std::string& indices);

// Output `output` is [rows] or [rows, columns] for an input of [rows, features] or [features].
void InferRows(proto::InferenceContext& context, size_t output);
void InferRows(proto::InferenceContext& context, size_t output, std::optional<int64_t> columns);
// How many values an attribute has; 0 when it is absent.
int64_t CountOf(const proto::InferenceContext& context, const char* attribute);
// Output 0 as labels, of strings or integers.
void InferLabels(proto::InferenceContext& context, const char* texts);

}  // namespace pt::contrib
