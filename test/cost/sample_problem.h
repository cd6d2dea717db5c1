// A small machine, graph and candidates that the tests of costs share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/cost/profile.h"
#include "partitiontuner/graph/graph_builder.h"
#include "test/testing/test_data.h"

namespace pt {

using testing::TemporaryFolder;

// Two cores as cpu[0], cpu[1], cpu[0-1]; with `simulated` also a simulated device and its links.
inline Platform SamplePlatform(bool simulated = false) {
  Platform p;
  p.devices = {{"cpu", "cpu", 0, false, "processor A"}};
  p.unit_classes = {{"cpu/1", DeviceId(0u), 1}, {"cpu/2", DeviceId(0u), 2}};
  p.resources = {{"core 0", 1.0, 0}, {"core 1", 1.0, 1}};
  p.units = {{"cpu[0]", UnitClassId(0u), {{ResourceId(0u), 1.0}}, {}, {}},
             {"cpu[1]", UnitClassId(0u), {{ResourceId(1u), 1.0}}, {}, {}},
             {"cpu[0-1]", UnitClassId(1u), {{ResourceId(0u), 1.0}, {ResourceId(1u), 1.0}}, {}, {}}};
  if (simulated) {
    p.devices.push_back({"sim:0", "simulated", 0, true, "rates B"});
    p.unit_classes.push_back({"sim:0", DeviceId(1u), 0});
    p.resources.push_back({"sim:0", 1.0, {}});
    p.units.push_back({"sim:0#0", UnitClassId(2u), {{ResourceId(2u), 1.0}}, ResourceId(1u), {}});
    p.links = {{DeviceId(0u), DeviceId(1u), 1000, 2.0}, {DeviceId(1u), DeviceId(0u), 3000, 0.5}};
    p.simulated[DeviceId(1u)].families["*"] = {100, 1, 1};
  }
  return p;
}

// x → Relu → Relu → … of growing sizes is no graph; so: `count` independent Relu nodes over 64·2^i elements.
inline Graph IndependentRelus(size_t count) {
  GraphBuilder builder;
  builder.set_opset(25);
  for (size_t i = 0; i < count; ++i) {
    const ValueType type = StaticType(DataType::kFloat32, {1, int64_t{64} << i});
    builder.AddOutput(builder.AddOp("Relu", {builder.AddInput("x" + std::to_string(i), type)}, type));
  }
  return builder.Build().value();
}

inline Candidate RunsAlone(const Graph& graph, NodeId node, UnitClassId unit_class, std::string library = "reference",
                           const Layout* layout = nullptr) {
  Candidate c;
  c.nodes = {node};
  c.unit_class = unit_class;
  c.library = std::move(library);
  for (ValueId id : GroupInputs(graph, c.nodes)) {
    const ValueType& type = graph.value(id).type;
    c.in.push_back({layout != nullptr ? *layout : RowMajor(type.dims.size()), type.type});
  }
  for (ValueId id : GroupOutputs(graph, c.nodes)) {
    const ValueType& type = graph.value(id).type;
    c.out.push_back({layout != nullptr ? *layout : RowMajor(type.dims.size()), type.type});
  }
  return c;
}

inline Measurement SampleMeasurement(std::string key_text, int64_t median_ns) {
  Measurement m;
  m.key_text = std::move(key_text);
  m.median_ns = median_ns;
  m.spread_ns = median_ns / 50;
  m.samples = 11;
  m.family = "Relu";
  m.device = "processor A";
  m.unit_class = "cpu/1";
  m.library = "reference";
  m.math = "fp32";
  m.flops = 12;
  m.bytes = 0.1;
  return m;
}

inline MeasurementKey SampleKey(std::string text) {
  const Hash128 hash = HashText(text);
  return {std::move(text), hash};
}

}  // namespace pt
