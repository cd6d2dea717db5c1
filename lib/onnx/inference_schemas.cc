#include "lib/onnx/inference_schemas.h"

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include <unordered_map>

#include "lib/onnx/contrib.h"
#include "lib/onnx/contrib/domain.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt {
namespace {

// libonnx writes to the dims of Mean and InvStdDev from the axis on, wherever that is.
bool HasItsAxis(const proto::InferenceContext& context) {
  const proto::TypeProto* x = context.getNumInputs() == 0 ? nullptr : context.getInputType(0);
  if (x == nullptr || !x->has_tensor_type() || !x->tensor_type().has_shape()) return true;
  const proto::AttributeProto* attribute = context.getAttribute("axis");
  const int64_t rank = x->tensor_type().shape().dim_size(), axis = attribute == nullptr ? -1 : attribute->i();
  return axis >= -rank && axis < rank;
}

class Schemas final : public proto::ISchemaRegistry {
 public:
  Schemas() {
    const proto::OpSchema& own = *proto::OpSchemaRegistry::Schema("LayerNormalization", kTargetOpset, "");
    layer_normalization_ = own;
    layer_normalization_.TypeAndShapeInferenceFunction(
        [infer = own.GetTypeAndShapeInferenceFunction()](proto::InferenceContext& context) {
          if (HasItsAxis(context)) infer(context);
        });
    // libonnx infers nothing of what it makes.
    group_normalization_ = *proto::OpSchemaRegistry::Schema("GroupNormalization", kTargetOpset, "");
    group_normalization_.TypeAndShapeInferenceFunction(proto::propagateShapeAndTypeFromFirstInput);
  }

  const proto::OpSchema* GetSchema(const std::string& key, int version, const std::string& domain) const override {
    if (domain == contrib::kDomain) {
      static const std::unordered_map<std::string, proto::OpSchema> contrib = ContribSchemas();  // few models need them
      const auto at = contrib.find(key);
      return at == contrib.end() ? nullptr : &at->second;
    }
    const bool spelled_out = domain == contrib::kSpelledOutDomain;
    const proto::OpSchema* schema = spelled_out ? proto::OpSchemaRegistry::Schema(key, kTargetOpset, "")
                                                : proto::OpSchemaRegistry::Schema(key, version, domain);
    if (schema == nullptr || !schema->domain().empty()) return schema;
    if (key == "LayerNormalization") return &layer_normalization_;
    return key == "GroupNormalization" ? &group_normalization_ : schema;
  }

 private:
  proto::OpSchema layer_normalization_;  // of opset 17; there is no other
  proto::OpSchema group_normalization_;  // of opset 21; its output is the same in opset 18
};

}  // namespace

const proto::ISchemaRegistry& InferenceSchemas() {
  static const Schemas schemas;
  return schemas;
}

}  // namespace pt
