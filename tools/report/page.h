// A page of HTML about plans and runs of them: its data, as whoever asked for the page puts it together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/plan/lanes.h"

namespace pt::tools {

// Another way to do the work of a step.
struct PageAlternative {
  std::string where, library;  // a unit class
  int64_t ns = 0;
};

struct PageStep {
  enum class Kind : uint8_t { kGroup, kCopy, kReorder } kind = Kind::kGroup;
  size_t unit = 0;  // of PagePlan::units
  int64_t start_ns = 0, ns = 0;
  std::string work, library;
  std::string op;  // of its heaviest node; empty for copies and reorders
  bool critical = false;
  int64_t measured_ns = 0;                // as a rule
  int64_t run_start_ns = -1, run_ns = 0;  // in the one run that is drawn; -1: not measured
  std::vector<PageAlternative> others;    // the fastest first
  std::vector<std::string> why;           // what the planner says of its nodes
};

struct PageUnit {
  std::string name;
  std::vector<LaneRun> lanes;  // none where no step on it takes time
};

struct PageMemory {
  std::string device;
  uint64_t peak_bytes = 0;
  std::vector<std::pair<int64_t, uint64_t>> bytes_at;  // as MemoryUse has it
};

struct PageBusy {
  std::string unit;
  double share = 0;  // of the makespan
};

struct PagePlan {
  std::string title, measured_title;  // above its timelines
  int64_t makespan_ns = 0;
  int64_t measured_end_ns = 0;          // 0: not measured
  int64_t bound_ns = 0, single_ns = 0;  // lower bound, and the best single device; 0: not known
  std::vector<std::string> lanes;
  std::vector<PageUnit> units;
  std::vector<PageStep> steps;
  std::vector<PageMemory> memory;
  std::vector<PageBusy> busy;
};

// One way to do some work, and what it takes.
struct PageWay {
  std::string where, library, layout, math;  // a unit class, library and variant, layouts in and out
  int64_t ns = 0, spread_ns = 0;             // half of the 95 % interval
  std::string note;
};

// An operator or a group, by all ways that are known.
struct PageWork {
  std::string work;
  size_t nodes = 1;
  int64_t alone_ns = 0;       // its nodes one by one, each by its fastest way; 0: not known
  std::vector<PageWay> ways;  // the fastest first; none: nothing is known
};

struct PageCard {
  std::string label, value, note;
};

struct PageTable {
  std::string title, note;
  std::vector<std::string> head;
  std::vector<size_t> numbers;  // columns that are aligned right
  std::vector<std::vector<std::string>> rows;
  bool late = false;  // below the tables of steps
};

struct Page {
  std::string heading, subtitle;
  std::vector<PageCard> cards;
  std::vector<std::string> notes;
  std::vector<PagePlan> plans;  // none, one, or two that are compared
  std::vector<PageWork> works;  // the heaviest first
  int64_t works_ns = 0;         // what their shares are of
  std::vector<PageTable> tables;
};

// One file that needs no other and asks no network. Whatever the strings hold, they are shown as text; long ones are
// cut. What planners say of steps is left out beyond some 40 kB, that of the longest steps last; so is what does not
// fit of works, the lightest first, and of their ways.
std::string PageHtml(const Page& page);

}  // namespace pt::tools
