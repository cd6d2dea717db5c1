#include "lib/onnx/inference_schemas.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "lib/onnx/contrib.h"
#include "lib/onnx/contrib/domain.h"
#include "lib/onnx/data_propagation.h"
#include "lib/onnx/definitions.h"
#include "lib/onnx/inference_rules.h"
#include "lib/onnx/opset_domain.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt {
namespace {

// Operators whose contents libonnx finds from those of their inputs.
constexpr std::array<std::string_view, 9> kFollowed = {"Add",   "Cast",    "Concat", "Gather",   "Mul",
                                                       "Slice", "Squeeze", "Sub",    "Unsqueeze"};

// The definition with our inference or guards in it; nothing where libonnx's serves as it is.
std::unique_ptr<const proto::OpSchema> OwnDefinition(const proto::OpSchema& libonnx) {
  if (!IsDefaultDomain(libonnx.domain())) return nullptr;
  for (const InferenceRule& rule : InferenceRules()) {
    if (rule.op != libonnx.Name()) continue;
    auto own = std::make_unique<proto::OpSchema>(libonnx);
    own->TypeAndShapeInferenceFunction([infer = rule.infer, &libonnx](proto::InferenceContext& context) {
      infer(libonnx.GetTypeAndShapeInferenceFunction(), context);
    });
    return own;
  }
  if (std::ranges::find(kFollowed, libonnx.Name()) == kFollowed.end()) return nullptr;
  if (!libonnx.has_data_propagation_function()) return nullptr;
  auto own = std::make_unique<proto::OpSchema>(libonnx);
  GuardPropagation(*own);
  return own;
}

class Schemas final : public proto::ISchemaRegistry {
 public:
  const proto::OpSchema* GetSchema(const std::string& key, int version, const std::string& domain) const override {
    if (domain == contrib::kDomain || domain == contrib::kMlDomain) {
      static const auto contrib = ContribSchemas();  // few models need them
      const auto at = contrib.find({domain, key});
      if (at != contrib.end()) return &at->second;
      if (domain == contrib::kDomain) return nullptr;
    }
    const bool is_other = OpsetOfDomain(domain).has_value();
    const proto::OpSchema* libonnx = DefinitionOf(key, version, is_other ? "" : domain);
    if (libonnx == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = own_.try_emplace(libonnx);
    if (is_new) at->second = OwnDefinition(*libonnx);
    return at->second == nullptr ? libonnx : at->second.get();
  }

 private:
  mutable std::mutex mutex_;
  // By libonnx's; null where that serves. What is in it stays.
  mutable std::unordered_map<const proto::OpSchema*, std::unique_ptr<const proto::OpSchema>> own_;
};

}  // namespace

const proto::ISchemaRegistry& InferenceSchemas() {
  static const Schemas schemas;
  return schemas;
}

}  // namespace pt
