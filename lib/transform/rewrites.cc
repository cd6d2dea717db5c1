#include "partitiontuner/transform/rewrites.h"

#include <algorithm>
#include <charconv>

namespace pt {
namespace {

Error BadRewrite(std::string_view text) {
  return MakeError(ErrorCode::kUsage, "rewrite.text", "unknown rewrite \"" + std::string(text) + "\"",
                   "one of split=NODES:PARTS, split-rows=NODES:PARTS, time-slices=N and requests=N");
}

Result<uint32_t> NumberFrom(std::string_view text, std::string_view whole) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return BadRewrite(whole);
  return number;
}

Status CheckNumber(std::string_view what, uint32_t number, uint32_t least) {
  if (number >= least && number <= kMostParts) return {};
  return MakeError(ErrorCode::kUsage, "rewrite.number",
                   std::string(what) + " " + std::to_string(number) + " is out of range",
                   "from " + std::to_string(least) + " to " + std::to_string(kMostParts));
}

Status AddRewrite(std::string_view text, Rewrites& rewrites) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return BadRewrite(text);
  const std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
  if (name == "time-slices") {
    PT_ASSIGN(rewrites.time_slices, NumberFrom(value, text));
    return {};
  }
  if (name == "requests") {
    PT_ASSIGN(rewrites.requests, NumberFrom(value, text));
    return {};
  }
  const size_t colon = value.rfind(':');
  const bool rows = name == "split-rows";
  if ((name != "split" && !rows) || colon == std::string_view::npos || colon == 0) return BadRewrite(text);
  PT_ASSIGN(const uint32_t parts, NumberFrom(value.substr(colon + 1), text));
  rewrites.splits.push_back(
      {std::string(value.substr(0, colon)), parts, rows ? SplitAxis::kRows : SplitAxis::kChannels});
  return {};
}

}  // namespace

std::string ToString(const Rewrites& rewrites) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const NodeSplit& split : rewrites.splits) {
    const std::string name = split.axis == SplitAxis::kRows ? "split-rows=" : "split=";
    add(name + split.nodes + ":" + std::to_string(split.parts));
  }
  if (rewrites.time_slices != 1) add("time-slices=" + std::to_string(rewrites.time_slices));
  if (rewrites.requests != 1) add("requests=" + std::to_string(rewrites.requests));
  return text;
}

Result<Rewrites> RewritesFromString(std::string_view text) {
  Rewrites rewrites;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    PT_CHECK_OK(AddRewrite(part, rewrites));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return rewrites;
}

Result<Graph> Rewrite(const Graph& graph, const Rewrites& rewrites) {
  PT_CHECK_OK(CheckNumber("time-slices", rewrites.time_slices, 1));
  PT_CHECK_OK(CheckNumber("requests", rewrites.requests, 1));
  Graph rewritten = graph;
  for (const NodeSplit& split : rewrites.splits) {
    PT_CHECK_OK(CheckNumber("split into", split.parts, 2));
    PT_ASSIGN(rewritten, SplitNodes(rewritten, split));
  }
  if (rewrites.time_slices > 1) {
    PT_ASSIGN(rewritten, SliceTime(rewritten, rewrites.time_slices));
  }
  if (rewrites.requests > 1) {
    PT_ASSIGN(rewritten, RepeatRequests(rewritten, rewrites.requests));
  }
  return rewritten;
}

}  // namespace pt
