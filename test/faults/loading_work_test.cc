// Files of some hundred bytes that ask for much when they are loaded: a graph or a refusal, and in either case little
// memory and little work, which is counted by the bytes that are allocated for it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "test/allocations/hook.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::loading_work_test {
namespace {

constexpr int kFloat = 1, kUint8 = 2, kInt64 = 7;

// A model without inputs whose nodes are constant, all of them.
struct Constants {
  GraphParts parts;

  std::string Add(std::string_view op, const std::vector<std::string>& inputs,
                  const std::vector<Wire>& attributes = {}) {
    const std::string output = "v" + std::to_string(parts.nodes.size());
    parts.nodes.push_back(NodeBytes(op, inputs, {output}, attributes));
    return output;
  }
  std::string Ints(const std::vector<int64_t>& values) {
    return Initializer(Int64Tensor(NameOfNext(), {static_cast<int64_t>(values.size())}, values));
  }
  std::string Int(int64_t value) { return Initializer(Int64Tensor(NameOfNext(), {}, {value})); }
  std::string Byte() { return Initializer(RawTensor(NameOfNext(), kUint8, {1}, "\1")); }
  std::string Float() { return Initializer(FloatTensor(NameOfNext(), {1}, {1})); }
  std::string Filled(int64_t elements, int type = kUint8) {
    const std::string value(type == kUint8 ? 1 : type == kFloat ? 4 : 8, '\0');
    return Add("ConstantOfShape", {Ints({elements})}, {TensorAttribute("value", RawTensor("", type, {1}, value))});
  }
  std::string Bytes(const std::string& output) {
    parts.outputs = {Wire().Bytes(1, output)};
    return ModelBytes(parts);
  }

 private:
  std::string NameOfNext() const { return "c" + std::to_string(parts.initializers.size()); }
  std::string Initializer(const Wire& tensor) {
    const std::string name = NameOfNext();
    parts.initializers.push_back(tensor);
    return name;
  }
};

using Models = std::vector<std::pair<std::string, std::string>>;

void AddLarge(Models& models, int64_t elements) {
  const std::string suffix = " of " + std::to_string(elements);
  const auto add = [&](const std::string& name, auto make) {
    Constants c;
    const std::string output = make(c);
    models.emplace_back(name + suffix, c.Bytes(output));
  };
  add("Pad", [&](Constants& c) { return c.Add("Pad", {c.Byte(), c.Ints({0, elements})}); });
  add("Pad of floats", [&](Constants& c) { return c.Add("Pad", {c.Float(), c.Ints({0, elements})}); });
  add("Pad at the edge", [&](Constants& c) {
    return c.Add("Pad", {c.Byte(), c.Ints({0, elements})}, {StringAttribute("mode", "edge")});
  });
  add("Expand", [&](Constants& c) { return c.Add("Expand", {c.Byte(), c.Ints({elements})}); });
  add("Tile", [&](Constants& c) { return c.Add("Tile", {c.Byte(), c.Ints({elements})}); });
  add("ConstantOfShape", [&](Constants& c) { return c.Filled(elements); });
  add("Range", [&](Constants& c) { return c.Add("Range", {c.Int(0), c.Int(elements), c.Int(1)}); });
  add("OneHot", [&](Constants& c) {
    const std::string values = c.Add("Concat", {c.Byte(), c.Byte()}, {IntAttribute("axis", 0)});
    return c.Add("OneHot", {c.Ints({1}), c.Int(elements), values});
  });
  add("Resize", [&](Constants& c) {
    return c.Add("Resize", {c.Byte(), "", "", c.Ints({elements})}, {StringAttribute("mode", "nearest")});
  });
  add("CumSum", [&](Constants& c) { return c.Add("CumSum", {c.Filled(elements, kFloat), c.Int(0)}); });
  add("Gather", [&](Constants& c) { return c.Add("Gather", {c.Byte(), c.Filled(elements, kInt64)}); });
  add("NonZero", [&](Constants& c) { return c.Add("NonZero", {c.Filled(elements)}); });
  add("Greater, Where", [&](Constants& c) {
    const std::string x = c.Filled(elements, kFloat);
    return c.Add("Where", {c.Add("Greater", {x, c.Float()}), x, c.Float()});
  });
}

Models ModelsThatAskForMuch() {
  Models models;
  for (const int64_t elements : {int64_t{100'000'000}, int64_t{1'000'000'000}, int64_t{1} << 40}) {
    AddLarge(models, elements);
  }
  const auto add = [&](const std::string& name, auto make) {
    Constants c;
    const std::string output = make(c);
    models.emplace_back(name, c.Bytes(output));
  };
  add("Concat of 60 copies, five times", [](Constants& c) {
    std::string all = c.Byte();
    for (int i = 0; i < 5; ++i) {
      all = c.Add("Concat", std::vector<std::string>(60, all), {IntAttribute("axis", 0)});
    }
    return all;
  });
  add("2000 sums of a million", [](Constants& c) {
    std::string sum = c.Filled(1'000'000, kFloat);
    for (int i = 0; i < 2000; ++i) sum = c.Add("Add", {sum, c.Float()});
    return sum;
  });
  add("40 times 50 million", [](Constants& c) {
    std::vector<std::string> most;
    for (int i = 0; i < 40; ++i) {
      most.push_back(c.Add("ReduceMax", {c.Add("Tile", {c.Byte(), c.Ints({50'000'000 + i})})}));
    }
    return c.Add("Concat", most, {IntAttribute("axis", 0)});
  });
  add("a product of a thousand squares", [](Constants& c) {
    const std::string square = c.Add("Reshape", {c.Filled(4'000'000, kFloat), c.Ints({2000, 2000})});
    std::string product = square;
    for (int i = 0; i < 1000; ++i) product = c.Add("MatMul", {product, square});
    return product;
  });
  // If and Loop hold graphs of their own, which count with the graph around them.
  add("20 bodies with 50 million each", [](Constants& c) {
    std::vector<std::string> all;
    for (int i = 0; i < 20; ++i) {
      GraphParts body;
      body.initializers = {Int64Tensor("n", {1}, {50'000'000 + i})};
      body.inputs = {ValueInfo("trip", kInt64, {}), ValueInfo("go", 9, {})};
      body.nodes = {NodeBytes("ConstantOfShape", {"n"}, {"z"}), NodeBytes("ReduceMax", {"z"}, {"m"}),
                    NodeBytes("Identity", {"go"}, {"go_on"})};
      body.outputs = {ValueInfo("go_on", 9, {}), ValueInfo("m", kFloat, {"1"})};
      all.push_back(c.Add("Loop", {"trips", ""}, {GraphAttribute("body", GraphBytes(body))}));
    }
    c.parts.inputs = {ValueInfo("trips", kInt64, {})};
    return c.Add("Concat", all, {IntAttribute("axis", 0)});
  });
  return models;
}

}  // namespace

TEST_CASE("Loading, SmallFilesTakeLittleMemoryAndWork", "[faults]") {
  constexpr int64_t kMostAtOnce = int64_t{1} << 30, kMostWork = int64_t{4} << 30;
  EngineOptions options;
  options.db_path = "none";
  const auto engine = Engine::Make(options).value();
  const TemporaryFolder folder;
  const std::string path = folder.file("model.onnx");
  int64_t most_at_once = 0, most = 0;
  for (const auto& [name, bytes] : ModelsThatAskForMuch()) {
    CAPTURE(name);
    std::ofstream(path, std::ios::binary) << bytes;
    const AllocatedBytes allocated;
    const auto model = engine->Load(path, {});
    INFO((model.ok() ? "" : ToString(model.error())));
    if (!model.ok()) CHECK(model.error().code != ErrorCode::kInternal);
    CHECK(allocated.most_at_once() < kMostAtOnce);
    CHECK(allocated.all() < kMostWork);
    most_at_once = std::max(most_at_once, allocated.most_at_once());
    most = std::max(most, allocated.all());
  }
  WARN("of a model " << (most_at_once >> 20) << " MiB at once, " << (most >> 20) << " MiB in all");
}

}  // namespace pt::testing::loading_work_test
