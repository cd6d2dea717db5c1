#include "test/testing/trace_checks.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <utility>
#include <vector>

#include "partitiontuner/support/json.h"

namespace pt::testing {
namespace {

struct DrawnStep {
  double start = 0, end = 0;
};
struct ArrowEnd {
  std::string name, category;
  int64_t track = 0;
  double at = 0;
};

std::string TextOf(const Json& event, const char* key) {
  const Json* value = event.find(key);
  REQUIRE(value != nullptr);
  REQUIRE(value->as_string() != nullptr);
  return *value->as_string();
}
int64_t IntegerOf(const Json& event, const char* key) {
  const Json* value = event.find(key);
  REQUIRE(value != nullptr);
  REQUIRE(value->as_int() != nullptr);
  return *value->as_int();
}
double NumberOf(const Json& event, const char* key) {
  const Json* value = event.find(key);
  REQUIRE(value != nullptr);
  REQUIRE(value->as_number().has_value());
  return *value->as_number();
}

class TraceReader {
 public:
  void Read(const Json& event) {
    const std::string phase = TextOf(event, "ph");
    if (phase == "M") return ReadName(event);
    REQUIRE(processes_.contains(IntegerOf(event, "pid")));
    const std::string process = processes_.at(IntegerOf(event, "pid"));
    const int64_t track = IntegerOf(event, "tid");
    const double at = NumberOf(event, "ts");
    if (phase == "C") {
      const double bytes = NumberOf(*event.find("args"), "bytes");
      CHECK(bytes >= 0);
      in_use_[process + ": " + TextOf(event, "name")] = bytes;
      ++tally_.counters[process + ": " + TextOf(event, "name")];
      return;
    }
    CHECK(process_of_track_.at(track) == IntegerOf(event, "pid"));
    if (phase == "X") {
      CHECK(at >= 0);
      CHECK(NumberOf(event, "dur") >= 0);
      steps_[track].push_back({at, at + NumberOf(event, "dur")});
      ++tally_.steps[process];
      return;
    }
    REQUIRE((phase == "s" || phase == "f"));
    if (phase == "f") CHECK(TextOf(event, "bp") == "e");
    auto& ends = phase == "s" ? starts_ : ends_;
    const ArrowEnd end{TextOf(event, "name"), TextOf(event, "cat"), track, at};
    CHECK(ends.emplace(IntegerOf(event, "id"), end).second);
    if (phase == "s") ++tally_.arrows[process + ": " + end.category];
  }

  TraceTally Finish() {
    for (auto& [track, steps] : steps_) CheckOrder(steps);
    CHECK(starts_.size() == ends_.size());
    for (const auto& [id, start] : starts_) {
      INFO("arrow " << id << ", " << start.name);
      REQUIRE(ends_.contains(id));
      const ArrowEnd& end = ends_.at(id);
      CHECK(start.name == end.name);
      CHECK(start.category == end.category);
      CHECK(start.at <= end.at);
      CHECK(start.track != end.track);
      CHECK(process_of_track_.at(start.track) == process_of_track_.at(end.track));
      CheckWithinStep(start);
      CheckWithinStep(end);
    }
    for (const auto& [counter, bytes] : in_use_) {
      INFO(counter);
      CHECK(bytes == 0);
    }
    return tally_;
  }

 private:
  void ReadName(const Json& event) {
    const std::string what = TextOf(event, "name");
    const int64_t process = IntegerOf(event, "pid"), track = IntegerOf(event, "tid");
    CHECK(track != 0);
    if (what == "process_name") {
      CHECK(processes_.emplace(process, TextOf(*event.find("args"), "name")).second);
    } else if (what == "thread_name") {
      CHECK_FALSE(TextOf(*event.find("args"), "name").empty());
      CHECK(process_of_track_.emplace(track, process).second);
    } else {
      CHECK((what == "process_sort_index" || what == "thread_sort_index"));
    }
  }

  static void CheckOrder(std::vector<DrawnStep>& steps) {
    std::ranges::sort(steps, {}, [](const DrawnStep& step) { return std::pair(step.start, step.end); });
    for (size_t i = 1; i < steps.size(); ++i) CHECK(steps[i].start >= steps[i - 1].end - kRounding);
  }

  void CheckWithinStep(const ArrowEnd& arrow) const {
    CHECK(std::ranges::any_of(steps_.at(arrow.track), [&](const DrawnStep& step) {
      return step.start <= arrow.at + kRounding && arrow.at < step.end;
    }));
  }

  static constexpr double kRounding = 1e-4;  // of microseconds that are sums of fractions

  std::map<int64_t, std::string> processes_;
  std::map<int64_t, int64_t> process_of_track_;
  std::map<int64_t, std::vector<DrawnStep>> steps_;  // by track
  std::map<int64_t, ArrowEnd> starts_, ends_;        // by id
  std::map<std::string, double> in_use_;
  TraceTally tally_;
};

}  // namespace

TraceTally CheckTraceEvents(const std::string& text) {
  const Result<Json> json = ParseJson(text, "trace");
  REQUIRE(json.ok());
  REQUIRE(json->find("traceEvents") != nullptr);
  TraceReader reader;
  for (const Json& event : *json->find("traceEvents")->as_array()) reader.Read(event);
  return reader.Finish();
}

}  // namespace pt::testing
