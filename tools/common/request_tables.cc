#include "tools/common/request_tables.h"

#include <utility>

namespace pt::tools {

ArrivalKind ArrivalsOf(const std::string& word) {
  return word == "fixed" ? ArrivalKind::kFixed : ArrivalKind::kPoisson;
}

Json ToJson(const LatencyHistogram& times) {
  Json json = Json::MakeObject();
  for (const auto& [name, percent] : {std::pair{"p50", 50.0}, {"p90", 90.0}, {"p99", 99.0}, {"p99.9", 99.9}}) {
    json.Set(name, times.Percentile(percent));
  }
  json.Set("min", times.min()).Set("max", times.max()).Set("mean", times.mean());
  return json;
}

Json ToJson(const RequestTally& tally) {
  Json row = Json::MakeObject();
  row.Set("rate", tally.rate).Set("served_per_s", tally.served_per_s()).Set("seconds", tally.seconds);
  row.Set("served", static_cast<int64_t>(tally.latency.count()));
  row.Set("refused", static_cast<int64_t>(tally.refused)).Set("late", static_cast<int64_t>(tally.late));
  row.Set("alone_runs", static_cast<int64_t>(tally.alone_runs));
  row.Set("latency_ns", ToJson(tally.latency));
  row.Set("waited_ns", ToJson(tally.waited));
  row.Set("sent_late_ns", ToJson(tally.sent_late));
  return row;
}

}  // namespace pt::tools
