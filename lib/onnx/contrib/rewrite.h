// One node of ONNX Runtime's domain, or of ai.onnx.ml, while it is spelled out: what it says, what is known of its
// inputs, and the nodes that take its place.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/onnx/contrib/domain.h"
#include "lib/onnx/fence.h"
#include "lib/onnx/fresh_names.h"
#include "lib/onnx/known_types.h"
#include "lib/onnx/model_tensors.h"
#include "lib/onnx/sources.h"

namespace ONNX_NAMESPACE {
struct InferenceContext;
}

namespace pt::contrib {

using Attributes = std::vector<proto::AttributeProto>;
proto::AttributeProto IntAttribute(const std::string& name, int64_t value);
proto::AttributeProto IntsAttribute(const std::string& name, const std::vector<int64_t>& values);
proto::AttributeProto FloatAttribute(const std::string& name, float value);
proto::AttributeProto TextAttribute(const std::string& name, const std::string& value);
proto::AttributeProto TextsAttribute(const std::string& name, const std::vector<std::string>& values);

// Where nodes go in place of others; shared by all rewrites of a model.
struct RewrittenModel {
  proto::GraphProto& graph;  // the main one, for new initialisers
  ModelTensors& tensors;
  FreshNames names;
  const Limits& limits;
};

class Rewrite {
 public:
  // The row of the table has been checked against the node: inputs and outputs that an operator needs are there.
  Rewrite(const proto::NodeProto& node, const KnownTypes& types, RewrittenModel& model, Nodes& made);

  // ---- the node ----

  int inputs() const { return node_.input_size(); }
  bool has(int input) const { return !in(input).empty(); }
  const std::string& in(int input) const;  // "" when absent
  bool wants(int output) const { return output < node_.output_size() && !node_.output(output).empty(); }
  int64_t Int(std::string_view attribute, int64_t otherwise) const;
  float Float(std::string_view attribute, float otherwise) const;
  std::string Text(std::string_view attribute, const std::string& otherwise) const;
  std::vector<int64_t> Ints(std::string_view attribute) const;  // empty when absent
  std::vector<float> Floats(std::string_view attribute) const;
  std::vector<std::string> Texts(std::string_view attribute) const;
  // Those of the named attributes that are given.
  Attributes Copies(std::initializer_list<std::string_view> attributes) const;

  // ---- what is known of values of the file; nothing of those made here ----

  std::optional<int32_t> element_type(const std::string& value) const;  // of TensorProto.DataType
  std::optional<int64_t> rank(const std::string& value) const;
  std::optional<int64_t> dim(const std::string& value, int64_t axis) const;  // from behind when negative
  // Whether two dims are equal, by their number or their name; false when that is not known.
  bool same_dim(const std::string& a, int64_t axis_a, const std::string& b, int64_t axis_b) const;
  // Null when the value is not constant. Valid until the next call.
  Result<const Tensor*> Constant(const std::string& value);

  // Errors (kUnsupported) when that is unknown; `what` names the input.
  Result<int32_t> NeedElementType(const std::string& value, const std::string& what) const;
  Result<int64_t> NeedRank(const std::string& value, const std::string& what) const;

  // ---- what takes its place ----

  // Appends a node of opset kTargetOpset; its result.
  std::string Add(const std::string& op, const std::vector<std::string>& inputs, const Attributes& attributes = {});
  // The same with `count` results.
  std::vector<std::string> AddMany(const std::string& op, const std::vector<std::string>& inputs, size_t count,
                                   const Attributes& attributes = {});
  // A node whose result is that output of the rewritten one, and is named like it if it is wanted.
  std::string Finish(int output, const std::string& op, const std::vector<std::string>& inputs,
                     const Attributes& attributes = {});
  // The node as it is.
  void Keep();
  // The node with other attributes, without one of them ("" for none), and with new values as those of its outputs.
  // Returns all its outputs.
  std::vector<std::string> KeepWith(const Attributes& changed, std::string_view dropped,
                                    const std::vector<int>& renamed);
  // A node with all outputs of the rewritten one.
  void FinishAll(const std::string& op, const std::vector<std::string>& inputs, const Attributes& attributes = {});
  // The same with those of its first `count` outputs that are wanted.
  void FinishFirst(int count, const std::string& op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {});

  std::string AddInts(const std::vector<int64_t>& values);   // a vector
  std::string AddScalar(int32_t element_type, float value);  // no dims
  std::string AddZero(int32_t element_type) { return AddScalar(element_type, 0); }
  // A new initialiser of the model.
  std::string AddTensor(const Tensor& tensor);

  static Error Unsupported(const std::string& why) { return LoadError(ErrorCode::kUnsupported, "onnx.contrib", why); }
  static Error Invalid(const std::string& why) { return LoadError(ErrorCode::kInvalidInput, "onnx.contrib", why); }

 private:
  const proto::TensorShapeProto::Dimension* FindDim(const std::string& value, int64_t axis) const;
  const proto::AttributeProto* Find(std::string_view attribute) const;
  proto::NodeProto& Append(const std::string& op, const std::vector<std::string>& inputs, const Attributes& attributes);
  std::string MakeName();
  std::string AddConstant(proto::TensorProto tensor);

  const proto::NodeProto& node_;
  const KnownTypes& types_;
  RewrittenModel& model_;
  Nodes& made_;
  Source source_;
  Tensor read_;  // what Constant gave last, where it was no placeholder
};

// ---- the table ----

struct AttributeRow {
  std::string_view name;
  proto::AttributeProto::AttributeType type;
  bool needed = false;
};

// One operator. Inputs are needed unless their name ends in '?'; a last one ending in '*' stands for any number. Of the
// outputs the first is always made; one that begins with '-' is refused when it is asked for.
struct Row {
  std::string_view op;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeRow> attributes;
  void (*infer)(proto::InferenceContext&);  // types of the outputs; lenient
  Status (*expand)(Rewrite&);
  std::string_view domain = kDomain;  // of another one libonnx has checked inputs, outputs and attributes
};

std::vector<Row> ActivationRows();
std::vector<Row> AttentionRows();
std::vector<Row> Bnb4ProductRows();
std::vector<Row> CropAndResizeRows();
std::vector<Row> ExperimentalRows();
std::vector<Row> ExpertRows();
std::vector<Row> GroupedAttentionRows();
std::vector<Row> MlFeatureRows();
std::vector<Row> MlLinearRows();
std::vector<Row> MlModelRows();
std::vector<Row> NormalizationRows();
std::vector<Row> PackedGatherRows();
std::vector<Row> PackedProductRows();
std::vector<Row> ProductRows();
std::vector<Row> QuantizedProductRows();
std::vector<Row> QuantizedRecurrenceRows();
std::vector<Row> QuantizedRows();
std::vector<Row> RenamedRows();
std::vector<Row> RotaryEmbeddingRows();

}  // namespace pt::contrib
