// What is taken from libonnx piece by piece, since making all of it takes milliseconds, held to all of it.
#include "lib/onnx/definitions.h"

#include <onnx/defs/schema.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "lib/onnx/definition_rows.h"
#include "lib/onnx/version_converter.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt::definitions_test {
namespace {

const std::vector<proto::OpSchema>& AllOfLibonnx() {
  static const std::vector<proto::OpSchema> all = proto::OpSchemaRegistry::get_all_schemas_with_history();
  return all;
}

// An attribute of each kind, with a value that is not the usual one.
void AddAttribute(const std::string& name, proto::AttributeProto::AttributeType type, proto::NodeProto& node) {
  using A = proto::AttributeProto;
  A attribute;
  attribute.set_name(name);
  attribute.set_type(type);
  if (type == A::INT) attribute.set_i(1);
  if (type == A::FLOAT) attribute.set_f(0.5f);
  if (type == A::STRING) attribute.set_s("nearest");
  if (type == A::INTS) attribute.add_ints(1), attribute.add_ints(2);
  if (type == A::FLOATS) attribute.add_floats(1), attribute.add_floats(2);
  if (type == A::STRINGS) attribute.add_strings("Tanh");
  const bool written = type == A::INT || type == A::FLOAT || type == A::STRING || type == A::INTS ||
                       type == A::FLOATS || type == A::STRINGS;
  if (written) *node.add_attribute() = attribute;
}

enum class Attributes { kNone, kAll, kNeeded };

// A model of one node, as large as its definition wants it.
proto::ModelProto ModelOf(const proto::OpSchema& definition, int64_t opset, Attributes attributes) {
  proto::ModelProto model;
  model.set_ir_version(8);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  proto::GraphProto& graph = *model.mutable_graph();
  graph.set_name("node");
  proto::NodeProto& node = *graph.add_node();
  node.set_op_type(definition.Name());
  const auto describe = [](proto::ValueInfoProto& info, const std::string& name) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(proto::TensorProto::FLOAT);
    for (const int64_t dim : {2, 3, 4, 4}) type->mutable_shape()->add_dim()->set_dim_value(dim);
  };
  for (int i = 0; i < std::max(definition.min_input(), 1); ++i) {
    node.add_input("i" + std::to_string(i));
    describe(*graph.add_input(), node.input(i));
  }
  for (int i = 0; i < std::max(definition.min_output(), 1); ++i) {
    node.add_output("o" + std::to_string(i));
    describe(*graph.add_output(), node.output(i));
  }
  const std::map<std::string, proto::OpSchema::Attribute> named(definition.attributes().begin(),
                                                                definition.attributes().end());
  for (const auto& [name, attribute] : named) {
    if (attributes == Attributes::kAll || (attributes == Attributes::kNeeded && attribute.required))
      AddAttribute(name, attribute.type, node);
  }
  return model;
}

// Its bytes; nothing where it cannot be converted.
template <typename Convert>
std::optional<std::string> Converted(const Convert& convert) {
  try {
    return convert().SerializeAsString();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("Definitions, AreThoseOfLibonnx", "[onnx]") {
  using Key = std::tuple<std::string, std::string, int>;
  std::set<Key> ours, theirs;
  for (const DefinitionRow& row : DefinitionRows()) ours.emplace(row.domain, row.op, row.version);
  for (const proto::OpSchema& schema : AllOfLibonnx()) {
    if (schema.domain().empty() || schema.domain() == "ai.onnx.ml")
      theirs.emplace(schema.domain(), schema.Name(), schema.since_version());
  }
  CHECK(ours.size() == DefinitionRows().size());
  CHECK(ours == theirs);
}

TEST_CASE("Definitions, TheNewestThatIsNotTooNewIsFound", "[onnx]") {
  const auto range = proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const proto::OpSchema& schema : AllOfLibonnx()) {
    for (int version = 0; version <= range.at(schema.domain()).second + 1; ++version) {
      INFO(schema.domain() << " " << schema.Name() << " " << version);
      const auto* theirs = proto::OpSchemaRegistry::Schema(schema.Name(), version, schema.domain());
      const auto* ours = DefinitionOf(schema.Name(), version, schema.domain());
      REQUIRE((ours == nullptr) == (theirs == nullptr));
      if (ours != nullptr) CHECK(ours->since_version() == theirs->since_version());
      if (schema.domain().empty())
        CHECK(DefinitionOpset(schema.Name(), version) == (theirs == nullptr ? 0 : theirs->since_version()));
    }
  }
  CHECK(DefinitionOf("Conv", 25, "another.domain") == nullptr);
  CHECK(DefinitionOf("NoSuchOperator", 25) == nullptr);
  CHECK(DefinitionOpset("NoSuchOperator", 25) == 0);
}

TEST_CASE("Version converter, GoesUpAsLibonnxDoes", "[onnx]") {
  const proto::version_conversion::DefaultVersionConverter libonnx;
  size_t converted = 0;
  for (const proto::OpSchema& schema : AllOfLibonnx()) {
    if (!schema.domain().empty()) continue;
    for (const Attributes attributes : {Attributes::kNone, Attributes::kNeeded, Attributes::kAll}) {
      // Each definition from the opset in which it came, over one step and all the way.
      for (const int64_t from : {int64_t{schema.since_version()}, kTargetOpset - 1}) {
        const auto* valid = DefinitionOf(schema.Name(), from);
        if (from >= kTargetOpset || valid == nullptr || valid->since_version() != schema.since_version()) continue;
        const proto::ModelProto model = ModelOf(schema, from, attributes);
        for (const int64_t to : {from + 1, kTargetOpset}) {
          INFO(schema.Name() << " " << from << " to " << to << ", attributes " << static_cast<int>(attributes));
          const auto theirs =
              Converted([&] { return libonnx.convert_version(model, proto::OpSetID(from), proto::OpSetID(to)); });
          CHECK(Converted([&] { return VersionConverter(from, to).Convert(model); }) == theirs);
          converted += theirs ? 1 : 0;
          if (!StaysAsItIs(schema.Name(), from, to)) continue;
          const auto untouched = Converted([&] { return VersionConverter(from, from).Convert(model); });
          proto::ModelProto newer;
          REQUIRE(untouched);
          REQUIRE(newer.ParseFromString(*untouched));
          newer.mutable_opset_import(0)->set_version(to);
          CHECK(theirs == newer.SerializeAsString());
        }
      }
    }
  }
  CHECK(converted > 1000);
}

}  // namespace pt::definitions_test
