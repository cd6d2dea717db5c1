#include "partitiontuner/plan/draw_timelines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "lib/plan/colors.h"
#include "partitiontuner/plan/lanes.h"
#include "partitiontuner/plan/step_text.h"
#include "partitiontuner/support/markup.h"
#include "partitiontuner/support/quantity_text.h"

namespace pt {
namespace {

// In pixels.
constexpr double kMargin = 16, kLabels = 120, kPlot = 1180, kBehind = 24;
constexpr double kLane = 20, kBar = 16, kTitle = 26, kGap = 14, kAxis = 22, kHeading = 30, kLegend = 26;
constexpr double kCharacter = 6.2;  // the mean width of one in a step's text
constexpr double kThinnest = 0.75;  // so that short steps can be seen
constexpr int64_t kLongest = 4;     // times the fastest plan: what takes longer goes on beyond the edge
constexpr double kSeparated = 4;    // narrower bars have no edge: it would be all that is seen

std::string Number(double pixels) {
  std::string text = Fixed(pixels, 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Attribute(std::string_view name, double pixels) {
  return " " + std::string(name) + "=\"" + Number(pixels) + "\"";
}

std::string Text(double x, double y, std::string_view text, std::string_view more = "") {
  return "<text" + Attribute("x", x) + Attribute("y", y) + std::string(more) + ">" + XmlText(text) + "</text>\n";
}

std::string Line(double x, double from, double to, std::string_view more) {
  return "<line" + Attribute("x1", x) + Attribute("y1", from) + Attribute("x2", x) + Attribute("y2", to) +
         std::string(more) + "/>\n";
}

std::string Box(double x, double y, double width, double height, std::string_view fill,
                std::string_view more = "/>\n") {
  return "<rect" + Attribute("x", x) + Attribute("y", y) + Attribute("width", width) + Attribute("height", height) +
         " fill=\"" + std::string(fill) + "\"" + std::string(more);
}

// Operators of other domains than ONNX's own are known by their names.
std::string ShortLabel(const Graph& graph, const Plan& plan, const Step& step) {
  const auto* run = std::get_if<RunGroup>(&step.work);
  if (run == nullptr) return WorkLabel(graph, plan, step);
  std::string text;
  for (const NodeId id : plan.candidates[run->candidate.index()].nodes) {
    const Node& node = graph.node(id);
    text += (text.empty() ? "" : "+") + (node.domain.empty() || node.name.empty() ? node.op : node.name);
  }
  return text;
}

// 1, 2 or 5 times a power of ten, so that some eight ticks stand on the axis.
int64_t TickNs(int64_t makespan_ns) {
  for (int64_t power = 1; power < makespan_ns; power *= 10) {
    for (const int64_t step : {power, 2 * power, 5 * power}) {
      if (makespan_ns / step <= 10) return step;
    }
  }
  return std::max<int64_t>(1, makespan_ns);
}

class Picture {
 public:
  Picture(const Graph& graph, const Platform& platform, std::span<const DrawnPlan> plans)
      : graph_(graph), platform_(platform), plans_(plans) {
    int64_t shortest_ns = std::numeric_limits<int64_t>::max() / kLongest;
    for (const DrawnPlan& drawn : plans) {
      int64_t end_ns = drawn.plan->makespan.ns;
      bound_ns_ = std::max(bound_ns_, drawn.plan->lower_bound_ns);
      for (const Step& step : drawn.plan->steps) {
        end_ns = std::max(end_ns, step.expected_start_ns + step.expected_ns);
        Register(step);
      }
      shortest_ns = std::min(shortest_ns, end_ns);
      end_ns_ = std::max(end_ns_, end_ns);
    }
    end_ns_ = std::min(end_ns_, shortest_ns * kLongest);
  }

  std::string Draw(std::string_view heading) {
    y_ = kMargin;
    body_ += Text(kMargin, y_ + 14, heading, " class=\"heading\"");
    y_ += kHeading;
    DrawLegend();
    y_ += kLegend;
    const double top = y_ + kAxis;
    y_ = top;
    std::string plans;
    std::swap(body_, plans);  // the grid lies below them
    for (const DrawnPlan& drawn : plans_) DrawPlan(drawn);
    std::swap(body_, plans);
    DrawGrid(top, y_);
    body_ += plans;
    return Frame(y_ + kAxis + kMargin);
  }

 private:
  // At most the right edge.
  double X(int64_t ns) const {
    const double share = end_ns_ > 0 ? static_cast<double>(ns) / static_cast<double>(end_ns_) : 0;
    return kMargin + kLabels + kPlot * std::min(share, 1.0);
  }

  void Register(const Step& step) {
    if (step.expected_ns <= 0) return;
    if (std::holds_alternative<RunGroup>(step.work)) {
      devices_.insert(platform_.device_of(step.unit));
    } else {
      (std::holds_alternative<Copy>(step.work) ? copies_ : reorders_) = true;
    }
  }

  void DrawLegend() {
    double x = kMargin;
    const auto add = [&](std::string_view color, const std::string& what) {
      body_ += Box(x, y_, 14, 14, color) + Text(x + 20, y_ + 11, what);
      x += 20 + kCharacter * static_cast<double>(what.size()) + 24;
    };
    for (const DeviceId id : devices_) {
      const Device& device = platform_.device(id);
      add(PaletteColor(id.index()), device.name + (device.simulated ? " (simulated)" : ""));
    }
    body_ += Box(x + 1, y_ + 1, 12, 12, "none", " stroke=\"#222\" stroke-width=\"1.5\"/>\n") +
             Text(x + 20, y_ + 11, "critical path");
    x += 20 + kCharacter * 13 + 24;
    if (copies_) add(kCopyColor, "copy");
    if (reorders_) add(kReorderColor, "reorder");
    if (bound_ns_ <= 0) return;
    body_ += Line(x + 7, y_, y_ + 14, " class=\"bound\"");
    body_ += Text(x + 20, y_ + 11, "lower bound " + ShortTime(bound_ns_));
  }

  void DrawGrid(double top, double bottom) {
    const int64_t tick = TickNs(end_ns_);
    for (int64_t ns = 0; ns <= end_ns_; ns += tick) {
      body_ += Line(X(ns), top, bottom, " class=\"grid\"");
      const std::string label = ns == 0 ? "0" : ShortTime(ns);
      body_ += Text(X(ns), top - 6, label, " class=\"tick\"") + Text(X(ns), bottom + 14, label, " class=\"tick\"");
    }
    if (bound_ns_ > 0) body_ += Line(X(bound_ns_), top, bottom, " class=\"bound\"");
  }

  void DrawPlan(const DrawnPlan& drawn) {
    const Plan& plan = *drawn.plan;
    std::string title = drawn.title + ": " + ShortTime(plan.makespan.ns);
    if (plan.lower_bound_ns > 0) title += ", " + Percent(plan.report.gap) + " over the bound";
    body_ += "<g>\n" + Text(kMargin, y_ + 16, title, " class=\"title\"");
    y_ += kTitle;
    const double top = y_;
    const StepLanes lanes = StepLanesOf(platform_, plan);
    for (const std::string& name : lanes.names) {
      body_ += Box(kMargin + kLabels, y_ + (kLane - kBar) / 2, kPlot, kBar, "#000", " fill-opacity=\"0.04\"/>\n");
      body_ += Text(kMargin + kLabels - 8, y_ + 14, name, " class=\"lane\"");
      y_ += kLane;
    }
    DrawSteps(plan, lanes, top);
    if (plan.makespan.ns <= end_ns_) {
      body_ += Line(X(plan.makespan.ns), top, y_, " class=\"end\"");
    } else {
      body_ += Text(kMargin + kLabels + kPlot + 4, (top + y_) / 2 + 5, "→", " class=\"title\"");
    }
    body_ += "</g>\n";
    y_ += kGap;
  }

  // Those on the critical path last: neighbours do not hide their edges.
  void DrawSteps(const Plan& plan, const StepLanes& lanes, double top) {
    const std::set<StepId> critical(plan.report.critical_path.begin(), plan.report.critical_path.end());
    for (const bool last : {false, true}) {
      std::map<UnitId, size_t> so_many;
      for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        if (step.expected_ns <= 0) continue;
        const bool odd = so_many[step.unit]++ % 2 == 1;
        if (critical.contains(StepId(s)) != last) continue;
        for (const LaneRun& run : lanes.of_unit.at(step.unit)) {
          DrawStep(plan, s, {top + kLane * run.first, kLane * run.count, odd, last});
        }
      }
    }
  }

  // odd: every second one of a unit is paler, so that neighbours can be told apart however narrow they are.
  struct Place {
    double y, height;
    bool odd, critical;
  };
  void DrawStep(const Plan& plan, size_t index, const Place& place) {
    const Step& step = plan.steps[index];
    if (step.expected_start_ns >= end_ns_) return;
    const double x = X(step.expected_start_ns), height = place.height - (kLane - kBar);
    const double width = std::max(kThinnest, X(step.expected_start_ns + step.expected_ns) - x);
    std::string more = place.critical ? " class=\"step critical\"" : " class=\"step\"";
    if (place.odd) more += " fill-opacity=\"0.75\"";
    if (place.critical && width > kSeparated) {
      more += " stroke=\"#222\" stroke-width=\"1.5\"";
    } else if (width > kSeparated) {
      more += " stroke=\"#fff\" stroke-width=\"0.5\"";
    }
    const std::string library = LibraryLabel(plan, step);
    const std::string tooltip = WorkLabel(graph_, plan, step) + "\n" + platform_.unit(step.unit).name +
                                (library.empty() ? "" : ", " + library) + "\n" + ShortTime(step.expected_start_ns) +
                                " to " + ShortTime(step.expected_start_ns + step.expected_ns) + ": " +
                                ShortTime(step.expected_ns) + " (step " + std::to_string(index) + ")";
    body_ += Box(x, place.y + (kLane - kBar) / 2, width, height, ColorOf(step),
                 more + "><title>" + XmlText(tooltip) + "</title></rect>\n");
    const auto room = static_cast<size_t>(std::max(0.0, (width - 4) / kCharacter));
    const double text_y = place.y + place.height / 2 + 4;
    if (room >= 3) body_ += Text(x + 3, text_y, CleanText(ShortLabel(graph_, plan, step), room), " class=\"work\"");
  }

  std::string_view ColorOf(const Step& step) const {
    if (std::holds_alternative<Copy>(step.work)) return kCopyColor;
    if (std::holds_alternative<Reorder>(step.work)) return kReorderColor;
    return PaletteColor(platform_.device_of(step.unit).index());
  }

  std::string Frame(double height) const {
    const double width = kMargin + kLabels + kPlot + kBehind + kMargin;
    return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + Attribute("width", width) + Attribute("height", height) +
           " viewBox=\"0 0 " + Number(width) + " " + Number(height) +
           "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\n"
           "<style>.heading{font-size:16px;font-weight:bold} .title{font-size:13px;font-weight:bold} "
           ".lane{text-anchor:end} .tick{text-anchor:middle;fill:#666} .work{font-size:10px;pointer-events:none} "
           ".grid{stroke:#ddd} .bound{stroke:#c00;stroke-dasharray:4 3} .end{stroke:#222;stroke-width:1.5}</style>\n" +
           Box(0, 0, width, height, "#fff") + body_ + "</svg>\n";
  }

  const Graph& graph_;
  const Platform& platform_;
  std::span<const DrawnPlan> plans_;
  int64_t end_ns_ = 0, bound_ns_ = 0;
  std::set<DeviceId> devices_;
  bool copies_ = false, reorders_ = false;
  double y_ = 0;
  std::string body_;
};

}  // namespace

std::string TimelinesSvg(const Graph& graph, const Platform& platform, std::span<const DrawnPlan> plans,
                         std::string_view heading) {
  return Picture(graph, platform, plans).Draw(heading);
}

}  // namespace pt
