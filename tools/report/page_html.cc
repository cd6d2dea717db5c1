#include <algorithm>
#include <map>
#include <numeric>

#include "partitiontuner/support/json.h"
#include "partitiontuner/support/markup.h"
#include "tools/report/page.h"
#include "tools/report/page_assets.h"

namespace pt::tools {
namespace {

constexpr size_t kMostOfName = 120, kMostOfText = 400;   // characters
constexpr size_t kMostOfReasons = 40'000;                // bytes, of all steps together
constexpr size_t kMostPoints = 800;                      // of a curve
constexpr size_t kMostWorks = 1'500, kMostOfWork = 90;   // rows, and characters of one
constexpr size_t kMostWays = 8, kMostOfAllWays = 1'800;  // of a work, and of all beside the fastest

Json Shown(std::string_view text) { return CleanText(text, kMostOfText); }

Json ShownAll(const std::vector<std::string>& texts) {
  Json json = Json::MakeArray();
  for (const std::string& text : texts) json.Push(Shown(text));
  return json;
}

// Each text once.
class Strings {
 public:
  int64_t Add(std::string_view text, size_t most_characters) {
    std::string clean = CleanText(text, most_characters);
    const auto [found, fresh] = index_.try_emplace(clean, static_cast<int64_t>(index_.size()));
    if (fresh) list_.Push(std::move(clean));
    return found->second;
  }
  Json TakeList() { return std::move(list_); }

 private:
  std::map<std::string, int64_t> index_;
  Json list_ = Json::MakeArray();
};

// How many reasons each step shows: those of the longest steps, as far as there is room.
std::vector<size_t> ReasonsShown(const std::vector<PageStep>& steps) {
  std::vector<size_t> order(steps.size()), shown(steps.size(), 0);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return steps[a].ns > steps[b].ns; });
  size_t bytes = 0;
  for (const size_t s : order) {
    for (const std::string& reason : steps[s].why) {
      bytes += std::min(reason.size(), kMostOfText) + 8;
      if (bytes > kMostOfReasons) return shown;
      ++shown[s];
    }
  }
  return shown;
}

Json StepJson(const PageStep& step, size_t reasons, Strings& strings) {
  Json others = Json::MakeArray(), why = Json::MakeArray();
  for (const PageAlternative& other : step.others) {
    Json row = Json::MakeArray();
    row.Push(strings.Add(other.where, kMostOfName));
    row.Push(strings.Add(other.library, kMostOfName));
    row.Push(other.ns);
    others.Push(std::move(row));
  }
  for (size_t i = 0; i < reasons; ++i) why.Push(strings.Add(step.why[i], kMostOfText));
  Json json = Json::MakeArray();  // in the order that the script names
  json.Push(static_cast<int64_t>(step.kind));
  json.Push(static_cast<int64_t>(step.unit));
  json.Push(step.start_ns);
  json.Push(step.ns);
  json.Push(strings.Add(step.work, kMostOfName));
  json.Push(strings.Add(step.library, kMostOfName));
  json.Push(strings.Add(step.op, kMostOfName));
  json.Push(static_cast<int64_t>(step.critical));
  json.Push(step.run_start_ns);
  json.Push(step.measured_ns);
  json.Push(step.run_ns);
  json.Push(std::move(others));
  json.Push(std::move(why));
  return json;
}

// Of several points that would lie on one pixel the highest.
Json CurveJson(const PageMemory& memory, int64_t end_ns) {
  const bool all = memory.bytes_at.size() <= kMostPoints;
  const int64_t width_ns = std::max<int64_t>(1, end_ns / static_cast<int64_t>(kMostPoints / 2));
  std::vector<std::pair<int64_t, uint64_t>> points;
  for (const auto& [ns, bytes] : memory.bytes_at) {
    if (all || points.empty() || ns / width_ns != points.back().first / width_ns) {
      points.emplace_back(ns, bytes);
    } else {
      points.back().second = std::max(points.back().second, bytes);
    }
  }
  Json flat = Json::MakeArray();
  for (const auto& [ns, bytes] : points) {
    flat.Push(ns);
    flat.Push(bytes);
  }
  Json json = Json::MakeObject();
  json.Set("device", Shown(memory.device));
  json.Set("peak", memory.peak_bytes);
  json.Set("points", std::move(flat));
  return json;
}

Json UnitsJson(const std::vector<PageUnit>& units) {
  Json rows = Json::MakeArray();
  for (const PageUnit& unit : units) {
    Json lanes = Json::MakeArray();
    for (const LaneRun& run : unit.lanes) {
      Json pair = Json::MakeArray();
      pair.Push(static_cast<int64_t>(run.first));
      pair.Push(static_cast<int64_t>(run.count));
      lanes.Push(std::move(pair));
    }
    Json row = Json::MakeObject();
    row.Set("name", Shown(unit.name));
    row.Set("lanes", std::move(lanes));
    rows.Push(std::move(row));
  }
  return rows;
}

Json PlanJson(const PagePlan& plan) {
  Strings strings;
  const std::vector<size_t> reasons = ReasonsShown(plan.steps);
  Json steps = Json::MakeArray(), memory = Json::MakeArray(), busy = Json::MakeArray();
  for (size_t s = 0; s < plan.steps.size(); ++s) steps.Push(StepJson(plan.steps[s], reasons[s], strings));
  for (const PageMemory& of_device : plan.memory) memory.Push(CurveJson(of_device, plan.makespan_ns));
  for (const PageBusy& row : plan.busy) {
    Json pair = Json::MakeArray();
    pair.Push(Shown(row.unit));
    pair.Push(row.share);
    busy.Push(std::move(pair));
  }
  Json json = Json::MakeObject();
  json.Set("title", Shown(plan.title));
  json.Set("measured_title", Shown(plan.measured_title));
  json.Set("makespan", plan.makespan_ns);
  json.Set("measured_end", plan.measured_end_ns);
  json.Set("bound", plan.bound_ns);
  json.Set("single", plan.single_ns);
  json.Set("lanes", ShownAll(plan.lanes));
  json.Set("units", UnitsJson(plan.units));
  json.Set("strings", strings.TakeList());
  json.Set("steps", std::move(steps));
  json.Set("memory", std::move(memory));
  json.Set("busy", std::move(busy));
  return json;
}

Json WayJson(const PageWay& way, Strings& strings) {
  Json json = Json::MakeArray();  // in the order that the script names
  for (const std::string& text : {way.where, way.library, way.layout, way.math, way.note}) {
    json.Push(strings.Add(text, kMostOfName));
  }
  json.Push(way.ns);
  json.Push(way.spread_ns);
  return json;
}

Json WorksJson(const std::vector<PageWork>& works, int64_t total_ns) {
  Strings strings;
  Json rows = Json::MakeArray();
  size_t left = kMostOfAllWays;
  for (size_t w = 0; w < std::min(works.size(), kMostWorks); ++w) {
    const PageWork& work = works[w];
    Json ways = Json::MakeArray();
    for (size_t i = 0; i < std::min(work.ways.size(), kMostWays) && (i == 0 || left > 0); ++i) {
      ways.Push(WayJson(work.ways[i], strings));
      if (i > 0) --left;
    }
    Json row = Json::MakeArray();  // likewise
    row.Push(strings.Add(work.work, kMostOfWork));
    row.Push(static_cast<int64_t>(work.nodes));
    row.Push(work.alone_ns);
    row.Push(static_cast<int64_t>(work.ways.size()));
    row.Push(std::move(ways));
    rows.Push(std::move(row));
  }
  Json json = Json::MakeObject();
  json.Set("total", total_ns);
  json.Set("count", static_cast<int64_t>(works.size()));
  json.Set("strings", strings.TakeList());
  json.Set("rows", std::move(rows));
  return json;
}

Json TableJson(const PageTable& table) {
  Json rows = Json::MakeArray(), numbers = Json::MakeArray();
  for (const std::vector<std::string>& row : table.rows) rows.Push(ShownAll(row));
  for (const size_t column : table.numbers) numbers.Push(static_cast<int64_t>(column));
  Json json = Json::MakeObject();
  json.Set("title", Shown(table.title));
  json.Set("note", Shown(table.note));
  json.Set("head", ShownAll(table.head));
  json.Set("numbers", std::move(numbers));
  json.Set("rows", std::move(rows));
  json.Set("late", table.late);
  return json;
}

Json PageJson(const Page& page) {
  Json cards = Json::MakeArray(), plans = Json::MakeArray(), tables = Json::MakeArray();
  for (const PageCard& card : page.cards) cards.Push(ShownAll({card.label, card.value, card.note}));
  for (const PagePlan& plan : page.plans) plans.Push(PlanJson(plan));
  for (const PageTable& table : page.tables) tables.Push(TableJson(table));
  Json json = Json::MakeObject();
  json.Set("heading", Shown(page.heading));
  json.Set("subtitle", Shown(page.subtitle));
  json.Set("cards", std::move(cards));
  json.Set("notes", ShownAll(page.notes));
  json.Set("plans", std::move(plans));
  if (!page.works.empty()) json.Set("works", WorksJson(page.works, page.works_ns));
  json.Set("tables", std::move(tables));
  return json;
}

// Within a script nothing but its end is markup: no '<' may stand there. JSON has them in strings alone.
std::string ForScript(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string PageHtml(const Page& page) {
  const std::string heading = XmlText(CleanText(page.heading, kMostOfText));
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n<title>" +
      heading + "</title>\n<style>\n" + std::string(kPageStyle) +
      "</style>\n</head>\n<body>\n<main></main>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n<noscript>\n<h1>" +
      heading + "</h1>\n";
  for (const PageCard& card : page.cards) {
    text += "<p>" + XmlText(card.label) + ": " + XmlText(card.value) + " " + XmlText(card.note) + "</p>\n";
  }
  return text + "<p>A script within this page draws the rest.</p>\n</noscript>\n" +
         "<script type=\"application/json\" id=\"data\">" + ForScript(WriteJson(PageJson(page), -1)) +
         "</script>\n<script>\n" + std::string(kPageScript) + "</script>\n</body>\n</html>\n";
}

}  // namespace pt::tools
