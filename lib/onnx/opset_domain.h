// The domain of nodes that are of another opset of ONNX than their model, until conversion brings all to one: what a
// function's body asks for, and operators that libonnx's checker would take for another's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/onnx/fence.h"

namespace pt {

std::string OpsetDomain(int64_t opset);
// Nothing for any other domain.
std::optional<int64_t> OpsetOfDomain(const std::string& domain);

// Of a node in a model of opset `own`; nothing for operators that ONNX does not define.
std::optional<int64_t> OpsetOf(const proto::NodeProto& node, int64_t own);

// The version of the default domain that a model or a function imports.
template <typename Owner>
std::optional<int64_t> DefaultOpset(const Owner& owner) {
  for (const auto& import : owner.opset_import()) {
    if (IsDefaultDomain(import.domain())) return import.version();
  }
  return std::nullopt;
}

// Imports each domain of that kind that the model's nodes are in, for as long as libonnx looks at them: it wants a
// version of every domain.
class OpsetDomainImports {
 public:
  explicit OpsetDomainImports(proto::ModelProto& model);
  ~OpsetDomainImports();
  OpsetDomainImports(const OpsetDomainImports&) = delete;
  OpsetDomainImports& operator=(const OpsetDomainImports&) = delete;

  bool any() const { return added_ > 0; }

 private:
  proto::ModelProto& model_;
  int added_ = 0;
};

}  // namespace pt
