#include "lib/onnx/definitions.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "lib/onnx/definition_rows.h"

namespace pt {
namespace {

class DefinitionTable final : public proto::ISchemaRegistry {
 public:
  DefinitionTable() : rows_(DefinitionRows().begin(), DefinitionRows().end()), made_(rows_.size()) {
    std::ranges::sort(rows_, {}, KeyOf);
  }

  const proto::OpSchema* GetSchema(const std::string& op, int version, const std::string& domain) const override {
    if (!HasDomain(domain)) return OfRareDomain(op, version, domain);
    const DefinitionRow* row = Find(op, version, domain);
    if (row == nullptr) return nullptr;
    Made& made = made_[static_cast<size_t>(row - rows_.data())];
    std::call_once(made.once, [&] { made.definition.emplace(row->make()).Finalize(); });
    return &*made.definition;
  }

  // Null when there is none.
  const DefinitionRow* Find(std::string_view op, int version, std::string_view domain) const {
    const auto above = std::ranges::upper_bound(rows_, Key(domain, op, version), {}, KeyOf);
    if (above == rows_.begin()) return nullptr;
    const DefinitionRow& row = *(above - 1);
    return row.domain == domain && row.op == op ? &row : nullptr;
  }

 private:
  using Key = std::tuple<std::string_view, std::string_view, int>;
  struct Made {
    std::once_flag once;
    std::optional<proto::OpSchema> definition;
  };

  static Key KeyOf(const DefinitionRow& row) { return {row.domain, row.op, row.version}; }

  bool HasDomain(std::string_view domain) const {
    const auto first = std::ranges::lower_bound(rows_, domain, {}, &DefinitionRow::domain);
    return first != rows_.end() && first->domain == domain;
  }

  // What libonnx's headers list in another way, for training and to be tried out: libonnx makes all it has.
  static const proto::OpSchema* OfRareDomain(const std::string& op, int version, const std::string& domain) {
    if (!proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map().contains(domain)) return nullptr;
    return proto::OpSchemaRegistry::Schema(op, version, domain);
  }

  std::vector<DefinitionRow> rows_;  // sorted
  mutable std::deque<Made> made_;    // by row
};

const DefinitionTable& AllDefinitions() {
  static const DefinitionTable table;
  return table;
}

}  // namespace

const proto::OpSchema* DefinitionOf(const std::string& op, int64_t version, const std::string& domain) {
  return AllDefinitions().GetSchema(op, static_cast<int>(version), domain);
}

int DefinitionOpset(std::string_view op, int64_t version) {
  const DefinitionRow* row = AllDefinitions().Find(op, static_cast<int>(version), "");
  return row == nullptr ? 0 : row->version;
}

const proto::ISchemaRegistry& Definitions() { return AllDefinitions(); }

}  // namespace pt
