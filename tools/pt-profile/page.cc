#include "tools/pt-profile/page.h"

#include <algorithm>
#include <map>

#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/plan/step_text.h"
#include "partitiontuner/support/text.h"
#include "tools/common/console.h"
#include "tools/common/page_facts.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

constexpr size_t kMostFailures = 40;

// "acdb", "abcd to aBcd16b".
std::string LayoutsText(const Candidate& candidate) {
  const auto text = [](const std::vector<Form>& forms) { return forms.empty() ? "" : ToString(forms.front().layout); };
  const std::string in = text(candidate.in), out = text(candidate.out);
  return in == out ? in : in + " to " + out;
}

// Without a variant that says nothing but the layouts.
std::string LibraryText(const Candidate& candidate) {
  const std::string in = candidate.in.empty() ? "" : ToString(candidate.in.front().layout);
  const bool is_layouts = !in.empty() && candidate.variant.starts_with(in);
  return candidate.library + (candidate.variant.empty() || is_layouts ? "" : " " + candidate.variant);
}

PageWay WayOf(const Platform& platform, const Candidate& candidate, const Estimate& cost) {
  PageWay way;
  way.where = platform.unit_class(candidate.unit_class).name;
  way.library = LibraryText(candidate);
  way.layout = LayoutsText(candidate);
  way.math = MathModeName(candidate.math);
  way.ns = cost.ns;
  way.spread_ns = cost.spread_ns;
  if (cost.provenance == Provenance::kSimulated) way.note = "simulated";
  return way;
}

// All groups that something can run, single nodes among them; then what each node takes alone.
void AddWorks(const ProfiledModel& profiled, Page& page) {
  const Graph& graph = *profiled.model.graph;
  const Platform& platform = profiled.machine.platform();
  std::map<std::vector<NodeId>, PageWork> works;
  for (const Candidate& candidate : profiled.model.candidates) {
    PageWork& work = works[candidate.nodes];
    if (work.work.empty()) work.work = GroupLabel(graph, candidate);
    work.nodes = candidate.nodes.size();
    const std::optional<Estimate> cost = profiled.costs.OfStep(candidate).run;
    if (cost) work.ways.push_back(WayOf(platform, candidate, *cost));
  }
  std::map<NodeId, int64_t> alone;
  for (auto& [nodes, work] : works) {
    std::ranges::stable_sort(work.ways, {}, &PageWay::ns);
    if (nodes.size() != 1 || work.ways.empty()) continue;
    alone[nodes.front()] = work.ways.front().ns;
    page.works_ns += work.ways.front().ns;
  }
  for (auto& [nodes, work] : works) {
    const bool known = std::ranges::all_of(nodes, [&](NodeId node) { return alone.contains(node); });
    for (const NodeId node : nodes) work.alone_ns += known ? alone.at(node) : 0;
    page.works.push_back(std::move(work));
  }
  std::ranges::stable_sort(page.works, std::ranges::greater(),
                           [](const PageWork& work) { return work.ways.empty() ? -1 : work.ways.front().ns; });
}

// What the operators take one after another on each class of units.
PageTable ClassTable(const Page& page) {
  struct Sum {
    int64_t ns = 0;
    size_t operators = 0;
  };
  std::map<std::string, Sum> sums;
  size_t operators = 0;
  for (const PageWork& work : page.works) {
    if (work.nodes != 1) continue;
    ++operators;
    std::map<std::string, int64_t> fastest;
    for (const PageWay& way : work.ways) fastest.try_emplace(way.where, way.ns);
    for (const auto& [where, ns] : fastest) sums[where] = {sums[where].ns + ns, sums[where].operators + 1};
  }
  PageTable table{"Operators by class of units",
                  "One after another, each by its fastest way there.",
                  {"units", "operators", "time"},
                  {1, 2},
                  {}};
  for (const auto& [where, sum] : sums) {
    table.rows.push_back(
        {where, std::to_string(sum.operators) + " of " + std::to_string(operators), ShortTime(sum.ns)});
  }
  return table;
}

double NoiseOf(const Measurement& row) {
  return static_cast<double>(row.spread_ns) / static_cast<double>(std::max<int64_t>(1, row.median_ns));
}

// How exact the measurements of each library are on each class of units. Of what is not work most times are near
// nothing, and a share of that says little.
PageTable NoiseTable(const Profile& profile) {
  struct Rows {
    std::vector<double> noise;
    size_t measured = 0, failed = 0;
  };
  std::map<std::vector<std::string>, Rows> groups;
  for (const auto& [key, row] : profile.measurements) {
    const bool is_work = !row.math.empty();
    Rows& rows = groups[{row.library.empty() ? row.family : row.library, row.unit_class, row.math}];
    ++(row.failure.empty() ? rows.measured : rows.failed);
    if (row.failure.empty() && is_work) rows.noise.push_back(NoiseOf(row));
  }
  PageTable table{"Measurements and their noise",
                  "Noise is half of the 95 % interval of a median, as a share of it.",
                  {"what", "on", "math", "measured", "median noise", "worst noise", "not possible"},
                  {3, 4, 5, 6},
                  {}};
  for (auto& [what, rows] : groups) {
    std::ranges::sort(rows.noise);
    const bool any = !rows.noise.empty();
    table.rows.push_back({what[0], what[1], what[2], std::to_string(rows.measured),
                          any ? Percent(rows.noise[rows.noise.size() / 2]) : "", any ? Percent(rows.noise.back()) : "",
                          rows.failed == 0 ? "" : std::to_string(rows.failed)});
  }
  return table;
}

// What cannot run, and what a process went down at.
PageTable FailureTable(const ProfiledModel& profiled) {
  PageTable table{"Not possible", "", {"what", "reason"}, {}, {}};
  for (const auto& [what, reason] : profiled.went_down) table.rows.push_back({what, reason});
  size_t more = 0;
  for (const auto& [key, row] : profiled.profile.measurements) {
    if (row.failure.empty()) continue;
    if (table.rows.size() >= kMostFailures) {
      ++more;
      continue;
    }
    table.rows.push_back({row.family + " by " + row.library + " on " + row.unit_class, row.failure});
  }
  if (more > 0) table.note = "And " + std::to_string(more) + " more.";
  return table;
}

void AddCards(const ProfiledModel& profiled, Page& page) {
  const MeasureReport& report = profiled.report;
  const size_t operators = profiled.model.graph->nodes().size();
  page.cards = {
      {"operators one by one", ShortTime(page.works_ns), "each by its fastest way"},
      {"operators", std::to_string(operators),
       std::to_string(page.works.size() - std::min(operators, page.works.size())) + " groups"},
      {"measurements", std::to_string(report.needed - report.missing) + " of " + std::to_string(report.needed),
       std::to_string(report.measured) + " now, " + std::to_string(report.reused) + " known, " +
           std::to_string(report.failed) + " not possible"},
      {"this call took", ShortTime(profiled.elapsed_ns), ""}};
  if (report.measured > 0) {
    page.cards.push_back({"noise, median", Percent(report.median_noise),
                          "of what was measured now; worst " + Percent(report.worst_noise)});
  }
}

void AddNotes(const ProfiledModel& profiled, Page& page) {
  const MeasureReport& report = profiled.report;
  if (report.interrupted) page.notes.push_back("Interrupted: the same command goes on from there.");
  if (report.missing > 0) {
    page.notes.push_back("Missing measurements: " + std::to_string(report.missing) +
                         (report.out_of_budget ? ", since the budget is over" : "") +
                         ". The same command goes on from there.");
  }
  if (report.noisy > 0) {
    page.notes.push_back("Measurements noisier than asked for: " + std::to_string(report.noisy) +
                         ". Other work on the machine does that, or a changing clock.");
  }
  for (const DeviceStates& device : report.devices) {
    const std::string fault = FaultOf(device);
    if (!fault.empty()) page.notes.push_back(device.device + ": " + fault + ".");
  }
  NoteSimulated(profiled.machine.platform(), page);
}

PageTable OriginTable(const ProfiledModel& profiled, const CommonFlags& flags) {
  PageTable table{"What was measured, and how", "", {"what", "is"}, {}, {}, true};
  table.rows = {{"command", flags.command_line}, {"model", profiled.model.model_hash}};
  if (!profiled.model.rewrites.empty()) table.rows.push_back({"rewrite", flags.rewrite});
  for (const auto& [what, is] : profiled.profile.environment) table.rows.push_back({what, is});
  for (const DeviceStates& device : profiled.report.devices) {
    table.rows.push_back(
        {device.device, ToString(device.first) + " at the beginning, " + ToString(device.last) + " at the end"});
  }
  return table;
}

}  // namespace

Status WriteProfilePage(const std::string& file, const CommonFlags& flags, const ProfiledModel& profiled) {
  if (file.empty()) return {};
  Page page;
  page.heading = ModelName(flags.model());
  page.subtitle = "Profile of " + flags.model();
  AddWorks(profiled, page);
  AddCards(profiled, page);
  AddNotes(profiled, page);
  page.tables = {NoiseTable(profiled.profile), ClassTable(page), FailureTable(profiled), OriginTable(profiled, flags),
                 MachineFacts(profiled.machine.platform())};
  std::erase_if(page.tables, [](const PageTable& table) { return table.rows.empty(); });
  return WriteTo(file, PageHtml(page));
}

}  // namespace pt::tools
