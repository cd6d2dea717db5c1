#include "lib/onnx/opset_domain.h"

#include <charconv>
#include <set>

#include "lib/onnx/nested_nodes.h"

namespace pt {
namespace {
constexpr std::string_view kPrefix = "pt.opset.";
}

std::string OpsetDomain(int64_t opset) { return std::string(kPrefix) + std::to_string(opset); }

std::optional<int64_t> OpsetOfDomain(const std::string& domain) {
  if (!domain.starts_with(kPrefix)) return std::nullopt;
  int64_t opset = 0;
  const char* const end = domain.data() + domain.size();
  const auto [stop, code] = std::from_chars(domain.data() + kPrefix.size(), end, opset);
  if (code != std::errc() || stop != end) return std::nullopt;
  return opset;
}

std::optional<int64_t> OpsetOf(const proto::NodeProto& node, int64_t own) {
  return IsDefaultDomain(node.domain()) ? own : OpsetOfDomain(node.domain());
}

OpsetDomainImports::OpsetDomainImports(proto::ModelProto& model) : model_(model) {
  std::set<int64_t> opsets;
  VisitNodes(*model.mutable_graph()->mutable_node(), [&](const proto::NodeProto& node) {
    if (const auto opset = OpsetOfDomain(node.domain())) opsets.insert(*opset);
  });
  for (const int64_t opset : opsets) {
    auto* import = model.add_opset_import();
    import->set_domain(OpsetDomain(opset));
    import->set_version(opset);
    ++added_;
  }
}

OpsetDomainImports::~OpsetDomainImports() {
  for (; added_ > 0; --added_) model_.mutable_opset_import()->RemoveLast();
}

}  // namespace pt
