#include "partitiontuner/plan/plan_json.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "partitiontuner/support/file.h"
#include "test/testing/planning_world.h"

namespace pt::plan_json_test {
namespace {

using testing::MakeWorld;
using testing::World;

// With every part of made_for that an engine fills.
Plan FullPlanBy(const World& world, std::string_view name, std::string_view argument = {}) {
  Plan plan = testing::PlanOf(world, name, argument);
  plan.made_for.tool_version = "0.1.0";
  plan.made_for.libraries = {{"made-up", "1.2"}};
  plan.made_for.graph_hash = ToHex(GraphHash(world.graph));
  plan.made_for.input_dims["x0"] = {2, 8, 4, 4};
  plan.made_for.platform = world.platform;
  plan.made_for.settings["seed"] = "1";
  plan.report.baselines_ns["heft"] = 12345;
  plan.report.reference_ns = 66'822;
  plan.report.hand_over_ns = 63;
  plan.report.segments = {2, 17, 12'345, {"cuda:1"}};
  plan.report.tight_bound = "L3 area";
  return plan;
}

// Replaces or removes the value at a path of keys and indices.
void Edit(Json& json, std::vector<std::string> path, const Json* value) {
  if (path.size() > 1) {
    const std::string key = path.front();
    path.erase(path.begin());
    if (json.as_array() != nullptr) return Edit(const_cast<Json&>((*json.as_array())[std::stoul(key)]), path, value);
    return Edit(const_cast<Json&>(*json.find(key)), path, value);
  }
  Json::Object object = *json.as_object();
  std::erase_if(object, [&](const auto& pair) { return pair.first == path.front(); });
  if (value != nullptr) object.emplace_back(path.front(), *value);
  json = Json(std::move(object));
}

// As much of draft 7 as the schema uses. Returns the first path that does not conform.
std::string Violation(const Json& schema, const Json& json, const std::string& path) {
  if (const Json* value = schema.find("const")) return *value == json ? "" : path + " is not " + WriteJson(*value, -1);
  if (const Json* values = schema.find("enum")) {
    const Json::Array& all = *values->as_array();
    return std::find(all.begin(), all.end(), json) != all.end() ? "" : path + " is none of " + WriteJson(*values, -1);
  }
  const std::string type = schema.find("type") != nullptr ? *schema.find("type")->as_string() : "";
  const bool fits = type.empty() || (type == "object" && json.as_object()) || (type == "array" && json.as_array()) ||
                    (type == "string" && json.as_string()) || (type == "integer" && json.as_int()) ||
                    (type == "number" && json.as_number()) || (type == "boolean" && json.as_bool());
  if (!fits) return path + " is no " + type;
  if (const Json* minimum = schema.find("minimum")) {
    if (*json.as_number() < *minimum->as_number()) return path + " is too small";
  }
  if (const Json* required = schema.find("required")) {
    for (const Json& key : *required->as_array()) {
      if (json.find(*key.as_string()) == nullptr) return path + " lacks " + *key.as_string();
    }
  }
  if (const Json::Object* object = json.as_object()) {
    const Json* properties = schema.find("properties");
    for (const auto& [key, value] : *object) {
      const Json* of_key = properties != nullptr ? properties->find(key) : nullptr;
      if (of_key == nullptr) of_key = schema.find("additionalProperties");
      if (of_key == nullptr && properties != nullptr) return path + "." + key + " is not described";
      if (of_key == nullptr) continue;
      const std::string violation = Violation(*of_key, value, path + "." + key);
      if (!violation.empty()) return violation;
    }
  }
  if (const Json* items = schema.find("items")) {
    for (size_t i = 0; i < json.as_array()->size(); ++i) {
      const std::string violation = Violation(*items, (*json.as_array())[i], path + "[" + std::to_string(i) + "]");
      if (!violation.empty()) return violation;
    }
  }
  return "";
}

TEST_CASE("PlanJson, ReadersAndWritersAreInverses", "[plan]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 20), {}, seed);
    const Plan plan = FullPlanBy(world, "random", std::to_string(seed));
    const std::string text = WriteJson(ToJson(plan, world.graph));
    const Result<Json> parsed = ParseJson(text, "plan");
    REQUIRE(parsed.ok());
    const Result<Plan> again = PlanFromJson(*parsed, "plan");
    INFO((again.ok() ? "" : ToString(again.error())));
    REQUIRE(again.ok());
    CHECK(WriteJson(ToJson(*again, world.graph)) == text);
    CHECK(again->steps.size() == plan.steps.size());
    CHECK(again->instances == plan.instances);
    CHECK(again->makespan.ns == plan.makespan.ns);
    CHECK(testing::FaultText(world, *again) == "");
  }
}

TEST_CASE("PlanJson, ConformsToTheShippedSchema", "[plan]") {
  const std::string path = std::string(PT_SOURCE_DIR) + "/docs/schema/plan.schema.json";
  const Json schema = ParseJson(ReadFile(path, 1 << 20).value(), path).value();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 30), {}, seed);
    CHECK(Violation(schema, ToJson(FullPlanBy(world, "random", "1"), world.graph), "plan") == "");
  }
}

TEST_CASE("PlanJson, StepsShowTheirNodes", "[plan]") {
  const World world = MakeWorld(testing::Chain(2), {.fused = false, .accelerator = false});
  const Json json = ToJson(FullPlanBy(world, "single", "cpu"), world.graph);
  bool seen = false;
  for (const Json& step : *json.find("steps")->as_array()) {
    if (*step.find("work")->as_string() != "run") continue;
    const Json& node = (*step.find("nodes")->as_array())[0];
    seen |= *node.find("index")->as_int() == 0 && *node.find("operator")->as_string() == "Conv";
  }
  CHECK(seen);
}

TEST_CASE("PlanJson, OtherMajorIsStaleOtherMinorIsRead", "[plan]") {
  const World world = MakeWorld(testing::Chain(3));
  const Json json = ToJson(FullPlanBy(world, "search"), world.graph);
  const Json two(2);
  Json major = json;
  Edit(major, {"version", "major"}, &two);
  REQUIRE_FALSE(PlanFromJson(major, "plan").ok());
  CHECK(PlanFromJson(major, "plan").error().code == ErrorCode::kStale);
  Json minor = json;
  const Json unknown("of a later version");
  Edit(minor, {"version", "minor"}, &two);
  Edit(minor, {"colour"}, &unknown);
  Edit(minor, {"steps", "0", "colour"}, &unknown);
  const Result<Plan> plan = PlanFromJson(minor, "plan");
  REQUIRE(plan.ok());
  CHECK(WriteJson(ToJson(*plan, world.graph)) == WriteJson(json));
}

TEST_CASE("PlanJson, EveryLostKeyIsRefused", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(3, 12), {}, 3);
  const Json json = ToJson(FullPlanBy(world, "random", "1"), world.graph);
  // What readers may do without: names for people, the machine of plans that no engine made, strides of dense ones,
  // the pace of times that nobody measured.
  const std::vector<std::string> optional = {"name",         "nodes",        "source",          "operator", "unit_name",
                                             "value_name",   "device_name",  "unit_class_name", "platform", "strides",
                                             "reference_ns", "hand_over_ns", "tight_bound",     "segments"};
  size_t lost = 0;
  const std::function<void(const Json&, std::vector<std::string>)> visit = [&](const Json& part,
                                                                               std::vector<std::string> path) {
    if (part.as_array() != nullptr) {
      for (size_t i = 0; i < std::min<size_t>(part.as_array()->size(), 3); ++i) {
        path.push_back(std::to_string(i));
        visit((*part.as_array())[i], path);
        path.pop_back();
      }
    } else if (part.as_object() != nullptr) {
      for (const auto& [key, value] : *part.as_object()) {
        const std::string parent = path.empty() ? "" : path.back();
        if (parent == "busy" || parent == "settings" || parent == "libraries" || parent == "input_dims" ||
            parent == "baselines_ns")
          continue;
        if (std::find(optional.begin(), optional.end(), key) != optional.end()) continue;
        path.push_back(key);
        Json damaged = json;
        Edit(damaged, path, nullptr);
        INFO(WriteJson(Json(Json::Array(path.begin(), path.end())), -1));
        CHECK_FALSE(PlanFromJson(damaged, "plan").ok());
        const Json wrong(Json::Array{Json("of another type")});
        damaged = json;
        Edit(damaged, path, &wrong);
        CHECK_FALSE(PlanFromJson(damaged, "plan").ok());
        ++lost;
        visit(value, path);
        path.pop_back();
      }
    }
  };
  visit(json, {});
  CHECK(lost > 80);
}

TEST_CASE("PlanJson, EditsOfOneOfTwoAgreeingFieldsAreRefused", "[plan]") {
  const World world = MakeWorld(testing::Chain(3), {.accelerator = false});
  const Json json = ToJson(FullPlanBy(world, "single", "cpu"), world.graph);
  const Json name("cpu[7]");
  const Json nodes(Json::Array{});
  const Json negative(-3);
  for (const auto& [path, value] :
       std::vector<std::pair<std::vector<std::string>, Json>>{{{"steps", "0", "unit_name"}, name},
                                                              {{"steps", "0", "id"}, Json(5)},
                                                              {{"instances", "0", "device_name"}, name},
                                                              {{"candidates", "0", "unit_class_name"}, name},
                                                              {{"candidates", "0", "nodes"}, nodes},
                                                              {{"steps", "0", "expected_ns"}, negative},
                                                              {{"lower_bound_ns"}, negative},
                                                              {{"makespan", "ns"}, Json(1e300)},
                                                              {{"format"}, name}}) {
    Json damaged = json;
    Edit(damaged, path, &value);
    INFO(path.back());
    const Result<Plan> plan = PlanFromJson(damaged, "plan");
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.error().code == ErrorCode::kInvalidInput);
    CHECK(plan.error().message.find("plan") == 0);
  }
}

}  // namespace
}  // namespace pt::plan_json_test
