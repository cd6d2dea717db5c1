#include "lib/onnx/inference_schemas.h"

#include <onnx/defs/schema.h>

#include <array>
#include <unordered_map>

#include "lib/onnx/contrib.h"
#include "lib/onnx/contrib/domain.h"
#include "lib/onnx/data_propagation.h"
#include "lib/onnx/inference_rules.h"
#include "lib/onnx/opset_domain.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt {
namespace {

class Schemas final : public proto::ISchemaRegistry {
 public:
  Schemas() {
    const int newest = proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
    for (int version = 1; version <= newest; ++version) {
      for (const InferenceRule& rule : InferenceRules()) AddRule(rule, version);
      for (const char* op : kFollowed) AddGuard(op, version);
    }
  }

  const proto::OpSchema* GetSchema(const std::string& key, int version, const std::string& domain) const override {
    if (domain == contrib::kDomain || domain == contrib::kMlDomain) {
      static const auto contrib = ContribSchemas();  // few models need them
      const auto at = contrib.find({domain, key});
      if (at != contrib.end()) return &at->second;
      if (domain == contrib::kDomain) return nullptr;
    }
    const bool is_other = OpsetOfDomain(domain).has_value();
    const proto::OpSchema* schema = proto::OpSchemaRegistry::Schema(key, version, is_other ? "" : domain);
    const auto at = own_.find(schema);
    return at == own_.end() ? schema : &at->second;
  }

 private:
  // Operators whose contents libonnx finds from those of their inputs.
  static constexpr std::array kFollowed = {"Add",   "Cast",    "Concat", "Gather",   "Mul",
                                           "Slice", "Squeeze", "Sub",    "Unsqueeze"};

  void AddRule(const InferenceRule& rule, int version) {
    const proto::OpSchema* libonnx = proto::OpSchemaRegistry::Schema(std::string(rule.op), version, "");
    if (libonnx == nullptr || own_.contains(libonnx)) return;
    proto::OpSchema& own = own_.emplace(libonnx, *libonnx).first->second;
    own.TypeAndShapeInferenceFunction([infer = rule.infer, libonnx](proto::InferenceContext& context) {
      infer(libonnx->GetTypeAndShapeInferenceFunction(), context);
    });
  }

  void AddGuard(const char* op, int version) {
    const proto::OpSchema* libonnx = proto::OpSchemaRegistry::Schema(op, version, "");
    if (libonnx == nullptr || !libonnx->has_data_propagation_function() || own_.contains(libonnx)) return;
    GuardPropagation(own_.emplace(libonnx, *libonnx).first->second);
  }

  std::unordered_map<const proto::OpSchema*, proto::OpSchema> own_;  // by libonnx's
};

}  // namespace

const proto::ISchemaRegistry& InferenceSchemas() {
  static const Schemas schemas;
  return schemas;
}

}  // namespace pt
