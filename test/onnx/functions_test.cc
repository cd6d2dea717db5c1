// Model-local functions: what the loader makes of a call is what its body says, walked by an interpreter that has no
// code in common with the loader.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "test/testing/function_model.h"
#include "test/testing/loading.h"

namespace pt::functions_test {
namespace {
using namespace testing;

using Nodes = std::vector<ModelNode>;

ModelAttribute Refers(const std::string& name, const ModelAttribute& like, const std::string& to) {
  return {name, like.value, to};
}
ModelAttribute Named(const std::string& name, const ModelAttribute& value) { return {name, value.value}; }

std::shared_ptr<const ModelGraph> Body(std::vector<std::string> inputs, Nodes nodes, std::vector<std::string> outputs) {
  return std::make_shared<const ModelGraph>(ModelGraph{std::move(inputs), std::move(outputs), std::move(nodes)});
}

Tensor Input() { return Tensor::Float32({2, 3}, {-1.5f, 0.25f, -0.75f, 2, -3, 0.5f}); }

// "" or in what the loaded model's outputs differ from the interpreter's.
std::string Difference(const FunctionModel& model) {
  const Result<std::vector<Tensor>> expected = Interpret(model);
  if (!expected.ok()) return "the interpreter: " + ToString(expected.error());
  const Result<Graph> graph = Load(BytesOf(model));
  if (!graph.ok()) return "the loader: " + ToString(graph.error());
  std::vector<Tensor> inputs;
  for (const NamedTensor& input : model.inputs) inputs.push_back(input.tensor);
  const Result<std::vector<Tensor>> outputs = Interpret(ModelOf(*graph, inputs));
  if (!outputs.ok()) return "the graph: " + ToString(outputs.error());
  if (outputs->size() != expected->size()) return "another number of outputs";
  for (size_t i = 0; i < outputs->size(); ++i) {
    if ((*outputs)[i].content_hash() != (*expected)[i].content_hash())
      return "output " + std::to_string(i) + " differs";
  }
  return {};
}

FunctionModel Model(Nodes nodes, std::vector<ModelFunction> functions, std::vector<std::string> outputs = {"y"}) {
  FunctionModel model;
  model.inputs = {{"x", Input()}};
  model.graph = {{}, std::move(outputs), std::move(nodes)};
  model.functions = std::move(functions);
  return model;
}

ModelNode CallOf(const std::string& name, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 std::vector<ModelAttribute> attributes = {}, const std::string& overload = {}) {
  return {name, std::move(inputs), std::move(outputs), std::move(attributes), "local", overload};
}

// ---- attributes of every kind, bound in every way, in bodies of every depth ----

struct Kind {
  const char* name;
  std::vector<ModelAttribute> values;              // three that give different results
  bool may_be_absent;                              // which gives another result still, or the first one's
  Nodes (*body)(const ModelAttribute& attribute);  // from "a" to "b"; the attribute is of some node
};

ModelAttribute At(const std::string& name, const ModelAttribute& attribute) {
  return {name, attribute.value, attribute.refers_to};
}

// The same node without the attribute where there is none to give.
std::vector<Kind> Kinds() {
  const auto graph = [](float by) {
    return Body({}, {{"Constant", {}, {"k"}, {{"value_float", by}}}, {"Add", {"k", "k"}, {"t"}}}, {"t"});
  };
  std::vector<Kind> kinds;
  kinds.push_back({"float", {{"", 0.5f}, {"", 0.125f}, {"", -2.0f}}, true, [](const ModelAttribute& p) -> Nodes {
                     return {{"LeakyRelu", {"a"}, {"b"}, {At("alpha", p)}}};
                   }});
  kinds.push_back(
      {"int", {{"", int64_t{0}}, {"", int64_t{1}}, {"", int64_t{-2}}}, true, [](const ModelAttribute& p) -> Nodes {
         return {{"ArgMax", {"a"}, {"b"}, {At("axis", p)}}};
       }});
  kinds.push_back({"string",
                   {{"", std::string("tanh")}, {"", std::string("none")}, {"", std::string("tanh")}},
                   true,
                   [](const ModelAttribute& p) -> Nodes {
                     return {{"Gelu", {"a"}, {"b"}, {At("approximate", p)}}};
                   }});
  kinds.push_back({"tensor",
                   {{"", Tensor::Float32({1}, {3})}, {"", Tensor::Float32({1}, {-4})}, {"", Tensor::Float32({1}, {7})}},
                   true,
                   [](const ModelAttribute& p) -> Nodes {
                     return {{"Shape", {"a"}, {"s"}},
                             {"ConstantOfShape", {"s"}, {"c"}, {At("value", p)}},
                             {"Add", {"a", "c"}, {"b"}}};
                   }});
  // Large enough not to stay in what libonnx sees.
  const auto large = [](float value) { return Tensor::Float32({2, 3000}, std::vector<float>(6000, value)); };
  kinds.push_back(
      {"large tensor", {{"", large(1)}, {"", large(2)}, {"", large(3)}}, false, [](const ModelAttribute& p) -> Nodes {
         return {{"Constant", {}, {"c"}, {At("value", p)}}, {"ReduceSum", {"c"}, {"s"}}, {"Add", {"a", "s"}, {"b"}}};
       }});
  kinds.push_back(
      {"ints",
       {{"", std::vector<int64_t>{0, 1}}, {"", std::vector<int64_t>{1, 0}}, {"", std::vector<int64_t>{0, 1}}},
       true,
       [](const ModelAttribute& p) -> Nodes {
         return {{"Transpose", {"a"}, {"b"}, {At("perm", p)}}};
       }});
  kinds.push_back(
      {"floats",
       {{"", std::vector<float>{1, 2, 3}}, {"", std::vector<float>{4, 5, 6}}, {"", std::vector<float>{-1, 0, 1}}},
       false,
       [](const ModelAttribute& p) -> Nodes {
         return {{"Constant", {}, {"c"}, {At("value_floats", p)}}, {"Mul", {"a", "c"}, {"b"}}};
       }});
  kinds.push_back({"strings",
                   {{"", std::vector<std::string>{"Relu"}},
                    {"", std::vector<std::string>{"Sigmoid"}},
                    {"", std::vector<std::string>{"Tanh"}}},
                   true,
                   [](const ModelAttribute& p) -> Nodes {
                     return {{"Constant", {}, {"w"}, {{"value", Tensor::Float32({1, 2, 3}, {1, -2, 3, 2, 1, -1})}}},
                             {"Constant", {}, {"r"}, {{"value", Tensor::Float32({1, 2, 2}, {0.5f, 0, -0.25f, 1})}}},
                             {"Constant", {}, {"front"}, {{"value_ints", std::vector<int64_t>{1}}}},
                             {"Unsqueeze", {"a", "front"}, {"steps"}},
                             {"RNN", {"steps", "w", "r"}, {"b"}, {{"hidden_size", int64_t{2}}, At("activations", p)}}};
                   }});
  kinds.push_back(
      {"graph", {{"", graph(1)}, {"", graph(2)}, {"", graph(3)}}, false, [](const ModelAttribute& p) -> Nodes {
         const auto other = Body({}, {{"Identity", {"a"}, {"e"}}}, {"e"});
         return {{"ReduceSum", {"a"}, {"sum"}, {{"keepdims", int64_t{0}}}},
                 {"IsNaN", {"sum"}, {"never"}},
                 {"Not", {"never"}, {"yes"}},
                 {"If", {"yes"}, {"t"}, {At("then_branch", p), {"else_branch", other}}},
                 {"Add", {"a", "t"}, {"b"}}};
       }});
  return kinds;
}

// The nodes as they are, or in a graph within; from "a" to "b".
Nodes Within(const std::string& where, const Nodes& nodes) {
  if (where == "If") {
    const auto branch = Body({}, nodes, {"b"});
    const auto other = Body({}, {{"Identity", {"a"}, {"other"}}}, {"other"});
    return {{"Constant", {}, {"sure"}, {{"value", Tensor::Of<bool>(DataType::kBool, {}, std::array{true})}}},
            {"If", {"sure"}, {"out"}, {{"then_branch", branch}, {"else_branch", other}}},
            {"Identity", {"out"}, {"b"}}};
  }
  if (where == "Loop") {
    Nodes inside = nodes;
    inside.push_back({"Identity", {"go"}, {"going"}});
    return {{"Constant", {}, {"twice"}, {{"value_int", int64_t{2}}}},
            {"Loop", {"twice", ""}, {"out"}, {{"body", Body({"i", "go"}, inside, {"going", "b"})}}},
            {"Identity", {"out"}, {"b"}}};
  }
  if (where == "Scan") {
    Nodes inside = nodes;
    inside.push_back({"Identity", {"row"}, {"unused"}});
    return {{"Scan",
             {"a"},
             {"out", "rows"},
             {{"body", Body({"row"}, inside, {"b", "unused"})}, {"num_scan_inputs", int64_t{1}}}},
            {"Identity", {"out"}, {"b"}}};
  }
  return nodes;
}

enum class Binding { kGiven, kDefault, kOverridden, kAbsent };
constexpr Binding kBindings[] = {Binding::kGiven, Binding::kDefault, Binding::kOverridden, Binding::kAbsent};

ModelFunction From(const std::string& name, Nodes nodes) {
  return {"local", name, "", {"a"}, {"b"}, {}, {}, std::move(nodes)};
}

// Declares attribute `name` as a binding asks for, and gives the call what it asks for.
void Bind(Binding binding, const std::string& name, const Kind& kind, ModelFunction& function, ModelNode& call,
          size_t given, size_t by_default) {
  if (binding == Binding::kGiven || binding == Binding::kAbsent) {
    function.attributes.push_back(name);
  } else {
    function.defaults.push_back(Named(name, kind.values[by_default]));
  }
  if (binding == Binding::kGiven || binding == Binding::kOverridden)
    call.attributes.push_back(Named(name, kind.values[given]));
}

}  // namespace

TEST_CASE("Functions, AttributesOfEveryKindAreBoundInEveryBody", "[onnx]") {
  size_t compared = 0;
  for (const Kind& kind : Kinds()) {
    for (const char* where : {"body", "If", "Loop", "Scan"}) {
      for (const Binding binding : kBindings) {
        if (binding == Binding::kAbsent && !kind.may_be_absent) continue;
        CAPTURE(kind.name, where, static_cast<int>(binding));
        ModelFunction f = From("F", Within(where, kind.body(Refers("", kind.values[0], "p"))));
        ModelNode call = CallOf("F", {"x"}, {"y"});
        Bind(binding, "p", kind, f, call, 0, 1);
        CHECK(Difference(Model({call}, {f})) == "");
        ++compared;
      }
    }
  }
  CHECK(compared == 9 * 4 * 3 + 6 * 4);
}

// G calls F, and hands over its own attribute, or what it likes, or nothing.
TEST_CASE("Functions, AttributesArePassedOn", "[onnx]") {
  for (const Kind& kind : Kinds()) {
    for (const char* where : {"body", "If", "Loop", "Scan"}) {
      for (const Binding outer : kBindings) {
        for (const Binding inner : kBindings) {
          for (const bool passes : {false, true}) {
            // Whether the node of F has a value in the end.
            const bool outer_has = outer != Binding::kAbsent, inner_has = inner != Binding::kAbsent;
            if (!kind.may_be_absent && !(passes ? outer_has || inner == Binding::kDefault : inner_has)) continue;
            CAPTURE(kind.name, where, static_cast<int>(outer), static_cast<int>(inner), passes);
            ModelFunction f = From("F", kind.body(Refers("", kind.values[0], "p")));
            ModelNode inside = CallOf("F", {"a"}, {"b"});
            Bind(inner, "p", kind, f, inside, 2, 1);
            if (passes) inside.attributes = {Refers("p", kind.values[0], "q")};
            // With a name that F uses otherwise, too.
            ModelFunction g = From("G", Within(where, {inside}));
            ModelNode call = CallOf("G", {"x"}, {"y"});
            Bind(outer, "q", kind, g, call, 0, 2);
            CHECK(Difference(Model({call}, {f, g})) == "");
            CHECK(Difference(Model({call}, {g, f})) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("Functions, OverloadsHaveTheirOwnBodiesAndDefaults", "[onnx]") {
  const auto leaky = [](const std::string& domain, const std::string& overload, float alpha) {
    ModelFunction f = From("F", {{"LeakyRelu", {"a"}, {"b"}, {Refers("alpha", {"", 0.0f}, "p")}}});
    f.domain = domain;
    f.overload = overload;
    f.defaults = {{"p", alpha}};
    return f;
  };
  ModelFunction g = From("G", {CallOf("F", {"a"}, {"m"}, {}, "two"), CallOf("F", {"m"}, {"b"})});
  const FunctionModel model =
      Model({CallOf("F", {"x"}, {"y0"}), CallOf("F", {"x"}, {"y1"}, {}, "two"), CallOf("G", {"x"}, {"y2"}),
             CallOf("F", {"x"}, {"y3"}, {{"p", 0.75f}}, "two")},
            {leaky("local", "", 0.5f), leaky("local", "two", 0.125f), g}, {"y0", "y1", "y2", "y3"});
  CHECK(Difference(model) == "");
}

// A graph that a call gives reads what it read where it was written, whatever the function calls its own.
TEST_CASE("Functions, GraphsOfCallsKeepTheirSurroundings", "[onnx]") {
  const auto reads = [](const std::string& name) { return Body({}, {{"Add", {name, name}, {"t"}}}, {"t"}); };
  const auto other = Body({}, {{"Neg", {"a"}, {"e"}}}, {"e"});
  ModelFunction f =
      From("F", {{"Constant", {}, {"yes"}, {{"value", Tensor::Of<bool>(DataType::kBool, {}, std::array{true})}}},
                 {"Mul", {"a", "a"}, {"h"}},
                 {"If", {"yes"}, {"t"}, {Refers("then_branch", {"", other}, "g"), {"else_branch", other}}},
                 {"Add", {"h", "t"}, {"b"}}});
  f.attributes = {"g"};
  // "a", "h" and "t" are names of the function's as well.
  FunctionModel model = Model({{"Exp", {"x"}, {"h"}},
                               {"Neg", {"h"}, {"a"}},
                               CallOf("F", {"x"}, {"y0"}, {{"g", reads("h")}}),
                               CallOf("F", {"h"}, {"y1"}, {{"g", reads("a")}}),
                               CallOf("F", {"a"}, {"y2"}, {{"g", reads("x")}})},
                              {f}, {"y0", "y1", "y2"});
  CHECK(Difference(model) == "");
  // Through a second function, whose own graph has calls again.
  ModelFunction g = From("G", {{"Sqrt", {"a"}, {"h"}},
                               CallOf("F", {"a"}, {"m"}, {Refers("g", {"", other}, "g")}),
                               CallOf("F", {"m"}, {"b"}, {{"g", Body({}, {CallOf("H", {"h"}, {"t"})}, {"t"})}})});
  g.attributes = {"g"};
  const ModelFunction h = From("H", {{"Mul", {"a", "a"}, {"b"}}});
  model.functions = {f, g, h};
  model.graph.nodes = {{"Exp", {"x"}, {"h"}},
                       CallOf("G", {"h"}, {"y0"}, {{"g", reads("x")}}),
                       CallOf("G", {"h"}, {"y1"}, {{"g", Body({}, {CallOf("H", {"x"}, {"b"})}, {"b"})}})};
  model.graph.outputs = {"y0", "y1"};
  CHECK(Difference(model) == "");
}

TEST_CASE("Functions, NamesOfBodiesMeetNoOthers", "[onnx]") {
  // Every name of the body is one of the graph's, and the other way round.
  ModelFunction f = From("F", {{"Neg", {"a"}, {"y"}}, {"Mul", {"y", "a"}, {"x"}}, {"Add", {"x", "y"}, {"b"}}});
  CHECK(Difference(Model({CallOf("F", {"x"}, {"a"}), CallOf("F", {"a"}, {"b"}), CallOf("F", {"b"}, {"y"})}, {f})) ==
        "");
  // What a graph within reads of its function.
  ModelFunction g = From("G", Within("If", {{"Mul", {"a", "a"}, {"t"}}, CallOf("F", {"t"}, {"b"})}));
  CHECK(Difference(Model({CallOf("G", {"x"}, {"t"}), CallOf("G", {"t"}, {"y"})}, {f, g})) == "");
}

TEST_CASE("Functions, OutputsMayBeInputs", "[onnx]") {
  ModelFunction f{"local", "F", "", {"a", "c"}, {"c", "a", "m"}, {}, {}, {{"Sub", {"a", "c"}, {"m"}}}};
  const FunctionModel model = Model({{"Exp", {"x"}, {"e"}},
                                     CallOf("F", {"x", "e"}, {"y0", "y1", "y2"}),
                                     CallOf("F", {"e", "x"}, {"", "y3"}),
                                     CallOf("F", {"e", "e"}, {"", "", "y4"})},
                                    {f}, {"y0", "y1", "y2", "y3", "y4"});
  CHECK(Difference(model) == "");
}

TEST_CASE("Functions, InputsMayBeLeftOut", "[onnx]") {
  ModelFunction f{"local", "F", "", {"a", "low", "high"}, {"b"}, {}, {}, {{"Clip", {"a", "low", "high"}, {"b"}}}};
  FunctionModel model =
      Model({CallOf("F", {"x"}, {"y0"}), CallOf("F", {"x", "zero"}, {"y1"}), CallOf("F", {"x", "", "zero"}, {"y2"})},
            {f}, {"y0", "y1", "y2"});
  model.constants = {{"zero", Tensor::Float32({}, {0})}};
  CHECK(Difference(model) == "");
}

TEST_CASE("Functions, EquationsMayBeAttributes", "[onnx]") {
  ModelFunction f = From("F", {{"Einsum", {"a", "a"}, {"b"}, {Refers("equation", {"", std::string()}, "e")}}});
  f.defaults = {{"e", std::string("ij,kj->ik")}};
  CHECK(Difference(Model({CallOf("F", {"x"}, {"y"})}, {f})) == "");
  const ModelNode call = CallOf("F", {"x"}, {"y"}, {{"e", std::string("ij->")}});
  CHECK(Mentions(LoadFault(BytesOf(Model({call}, {f}))), "is not valid: it has 1 terms for 2 inputs"));
}

TEST_CASE("Functions, CallsThatDoNotFitAreRefused", "[onnx]") {
  ModelFunction f = From("F", {{"LeakyRelu", {"a"}, {"b"}, {Refers("alpha", {"", 0.0f}, "p")}}});
  f.defaults = {{"p", 0.5f}};
  const auto fault = [&](ModelNode call) { return LoadFault(BytesOf(Model({std::move(call)}, {f}))); };
  CHECK(Mentions(fault(CallOf("F", {"x", "x"}, {"y"})), "function local.F has 1 and 1"));
  CHECK(Mentions(fault(CallOf("F", {"x"}, {"y", "z"})), "function local.F has 1 and 1"));
  CHECK(Mentions(fault(CallOf("F", {"x"}, {"y"}, {{"p", int64_t{1}}})), "of type INT in this call; FLOAT is expected"));
  CHECK_FALSE(fault(CallOf("F", {"x"}, {"y"}, {{"p", 1.0f}, {"p", 2.0f}})).empty());
  f.defaults = {{"p", int64_t{1}}};
  CHECK(Mentions(fault(CallOf("F", {"x"}, {"y"})), "of type INT in this call; FLOAT is expected"));
  LoadReport report;
  f.defaults = {{"p", 0.5f}};
  REQUIRE(Load(BytesOf(Model({CallOf("F", {"x"}, {"y"}, {{"q", 1.0f}})}, {f})), {}, &report).ok());
  REQUIRE(report.warnings.size() == 1);
  CHECK(Mentions(report.warnings[0], "attribute q, which the function does not have"));
}

// Recursion that goes through a graph which a call gives.
TEST_CASE("Functions, RecursionThroughGraphsIsRefused", "[onnx]") {
  const auto other = Body({}, {{"Neg", {"a"}, {"e"}}}, {"e"});
  ModelFunction f =
      From("F", {{"Constant", {}, {"yes"}, {{"value", Tensor::Of<bool>(DataType::kBool, {}, std::array{true})}}},
                 {"If", {"yes"}, {"b"}, {Refers("then_branch", {"", other}, "g"), {"else_branch", other}}}});
  f.attributes = {"g"};
  const ModelFunction g = From("G", {CallOf("F", {"a"}, {"b"}, {{"g", Body({}, {CallOf("G", {"a"}, {"t"})}, {"t"})}})});
  CHECK(Mentions(LoadFault(BytesOf(Model({CallOf("G", {"x"}, {"y"})}, {f, g}))), "onnx.recursion"));
}

// Each function gives the next one a graph that has its own twice.
TEST_CASE("Functions, GraphsThatDoubleAreRefused", "[onnx]") {
  const auto leaf = Body({}, {{"Neg", {"x"}, {"t"}}}, {"t"});
  std::vector<ModelFunction> functions = {From(
      "F0", {{"Not", {"a"}, {"no"}},
             {"If", {"no"}, {"b"}, {Refers("then_branch", {"", leaf}, "g"), Refers("else_branch", {"", leaf}, "g")}}})};
  for (int i = 1; i < 40; ++i) {
    const auto twice = Body(
        {}, {{"If", {"a"}, {"t"}, {Refers("then_branch", {"", leaf}, "g"), Refers("else_branch", {"", leaf}, "g")}}},
        {"t"});
    functions.push_back(
        From("F" + std::to_string(i), {CallOf("F" + std::to_string(i - 1), {"a"}, {"b"}, {{"g", twice}})}));
  }
  for (ModelFunction& function : functions) function.attributes = {"g"};
  FunctionModel model = Model({CallOf("F39", {"c"}, {"y"}, {{"g", leaf}})}, functions);
  model.constants = {{"c", Tensor::Of<bool>(DataType::kBool, {}, std::array{true})}};
  LoadOptions options;
  options.limits.nodes = 10'000;
  CHECK(Mentions(LoadFault(BytesOf(model), options), "onnx.limit"));
}

// Also where none of the last outputs is wanted.
TEST_CASE("LoadOnnx, OutputsLeftOutKeepTheirPlaces", "[onnx]") {
  const std::vector<std::vector<std::string>> outputs = {{"y", ""}, {"", "y"}, {"y", "", ""}, {"", "y", ""}};
  for (const auto& names : outputs) {
    const auto parts = static_cast<int64_t>(names.size());
    CHECK(Difference(Model({{"Split", {"x"}, names, {{"axis", int64_t{1}}, {"num_outputs", parts}}}}, {})) == "");
  }
  FunctionModel model = Model({{"Split", {"x", "sizes"}, {"y", ""}, {{"axis", int64_t{1}}}}}, {});
  model.constants = {{"sizes", Tensor::Int64({2}, {2, 1})}};
  CHECK(Difference(model) == "");
  const auto branch = [](const std::string& mark) {
    return Body({}, {{"Neg", {"x"}, {"a" + mark}}, {"Abs", {"x"}, {"b" + mark}}}, {"a" + mark, "b" + mark});
  };
  for (const auto& names : std::vector<std::vector<std::string>>{{"y", ""}, {"", "y"}}) {
    model = Model({{"If", {"c"}, names, {{"then_branch", branch("1")}, {"else_branch", branch("2")}}}}, {});
    model.constants = {{"c", Tensor::Of<bool>(DataType::kBool, {}, std::array{true})}};
    CHECK(Difference(model) == "");
  }
}

}  // namespace pt::functions_test
