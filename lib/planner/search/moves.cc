#include "lib/planner/search/moves.h"

#include <algorithm>
#include <numeric>

namespace pt {
namespace {

// A change over more positions than this is not a small one.
constexpr uint32_t kLongest = 4096;

}  // namespace

std::optional<Window> Moves::Draw(uint32_t at) {
  changes_.clear();
  switch (random_.Below(10)) {
    case 0:
    case 1:
      return ChangeOption(at);
    case 2:
      return Regroup(at);
    case 3:
      return PairUp(at);
    case 4:
      return MoveRun(at);
    case 5:
      return MoveBranch(at);
    case 6:
      return ChangeForms(at);
    case 7:
      return Swap(at);
    default:
      return Reorder(at);
  }
}

const Choice& Moves::choice(uint32_t at) const {
  for (const Change& change : changes_) {
    if (change.first == at) return change.second;
  }
  return now_.solution()[at];
}

void Moves::BringMates() {
  if (rules_.empty()) return;
  for (size_t i = 0; i < changes_.size(); ++i) {  // grows: a mate has mates of its own where it runs in a group
    const Choice to = changes_[i].second;
    const Option& option = space_.option(to.option);
    for (NodeId node : space_.group(option.group).nodes) {
      for (NodeId mate : rules_.mates(node)) {
        const uint32_t at = now_.position(mate);
        if (space_.option(choice(at).option).device == option.device) continue;
        const uint32_t there = CheapestOn(space_.option(choice(at).option).group, option.unit_class);
        if (there != kNothing) changes_.emplace_back(at, Choice{there, to.unit});
      }
    }
  }
}

std::optional<Window> Moves::Changed() {
  BringMates();
  std::erase_if(changes_, [&](const Change& change) { return change.second == now_.solution()[change.first]; });
  if (changes_.empty()) return std::nullopt;
  const auto [first, last] = std::minmax_element(changes_.begin(), changes_.end(),
                                                 [](const Change& a, const Change& b) { return a.first < b.first; });
  Window window{first->first, last->first + 1, {}};
  if (window.to - window.from > kLongest) return std::nullopt;
  window.choices.assign(now_.solution().begin() + window.from, now_.solution().begin() + window.to);
  for (const auto& [at, choice] : changes_) window.choices[at - window.from] = choice;
  return window;
}

std::optional<Window> Moves::Sorted(uint32_t from, uint32_t to, const std::vector<int64_t>& keys) {
  Window window{from, to, {}};
  for (uint32_t c = from; c < to; ++c) window.choices.push_back(choice(c));
  if (!sorter_.Sort(window.choices, keys)) return std::nullopt;
  const bool same = std::equal(window.choices.begin(), window.choices.end(), now_.solution().begin() + from);
  return same ? std::nullopt : std::optional(std::move(window));
}

std::optional<Window> Moves::ChangeOption(uint32_t at) {
  const std::vector<uint32_t>& options = group(at).options;
  const uint32_t option = options[random_.Below(options.size())];
  const std::span<const UnitId> units = space_.units(space_.option(option).unit_class);
  changes_.emplace_back(at, Choice{option, units[random_.Below(units.size())]});
  return Changed();
}

uint32_t Moves::CheapestOn(uint32_t group_id, UnitClassId unit_class) const {
  const Group& group = space_.group(group_id);
  uint32_t best = kNothing;
  int64_t best_ns = kImpossible;
  for (uint32_t o : group.options) {
    const Option& option = space_.option(o);
    if (option.unit_class != unit_class) continue;
    int64_t ns = option.likely_ns();
    for (size_t i = 0; i < group.in.size(); ++i)
      ns = AddNs(ns, space_.routes(group.in[i]).cost(MadeIn(group.in[i]), option.in[i]));
    if (ns >= best_ns) continue;
    best_ns = ns;
    best = o;
  }
  return best;
}

uint32_t Moves::MadeIn(ValueId value) const {
  const ValueSlots& slots = space_.value(value);
  if (!slots.producer.valid()) return slots.external;
  const uint32_t maker = choice(now_.position(slots.producer)).option;
  const Group& group = space_.group_of(maker);
  for (size_t i = 0; i < group.out.size(); ++i) {
    if (group.out[i] == value) return space_.option(maker).out[i];
  }
  return 0;  // within the maker's group only: the mover gets to know it when it regroups
}

std::optional<Window> Moves::Regroup(uint32_t at) {
  const Solution& now = now_.solution();
  const std::vector<NodeId>& nodes = group(at).nodes;
  const NodeId node = nodes[random_.Below(nodes.size())];
  const std::span<const uint32_t> groups = space_.groups_of(node);
  const uint32_t wanted = groups[random_.Below(groups.size())];
  if (wanted == space_.option(now[at].option).group || space_.group(wanted).options.empty()) return std::nullopt;
  std::vector<uint32_t> dropped;
  for (NodeId n : space_.group(wanted).nodes) dropped.push_back(now_.position(n));
  std::sort(dropped.begin(), dropped.end());
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  Window window{dropped.front(), dropped.back() + 1, {}};
  if (window.to - window.from > kLongest) return std::nullopt;
  std::vector<int64_t> keys;
  for (uint32_t c = window.from; c < window.to; ++c) {
    if (std::binary_search(dropped.begin(), dropped.end(), c)) continue;
    window.choices.push_back(now[c]);
    keys.push_back(c);
  }
  const auto add = [&](uint32_t group, UnitId on, int64_t key) {
    uint32_t option = CheapestOn(group, space_.platform().unit(on).unit_class);
    if (option == kNothing) {
      if (space_.group(group).options.empty()) return false;
      option = space_.group(group).options.front();
      on = space_.units(space_.option(option).unit_class).front();
    }
    window.choices.push_back({option, on});
    keys.push_back(key);
    return true;
  };
  const std::vector<NodeId>& taken = space_.group(wanted).nodes;
  for (uint32_t c : dropped) {
    for (NodeId n : space_.group_of(now[c].option).nodes) {
      if (std::binary_search(taken.begin(), taken.end(), n)) continue;
      const uint32_t single = space_.single_group(n);
      if (single == kNothing || !add(single, now[c].unit, c)) return std::nullopt;
    }
  }
  if (!add(wanted, now[at].unit, dropped.back()) || !sorter_.Sort(window.choices, keys)) return std::nullopt;
  return window;
}

std::optional<Window> Moves::PairUp(uint32_t at) {
  const Option& wide = space_.option(choice(at).option);
  const uint32_t width = space_.platform().unit_class(wide.unit_class).cores;
  if (width < 2) return std::nullopt;
  const size_t other = std::min<size_t>(now_.solution().size() - 1, at + 1 + random_.Below(8));
  if (other <= at) return std::nullopt;
  const std::optional<std::pair<UnitId, UnitId>> pair = NarrowPair(wide.device, width);
  if (!pair) return std::nullopt;
  const UnitClassId narrow = space_.platform().unit(pair->first).unit_class;
  const auto narrowed = [&](uint32_t c, UnitId unit) {
    const uint32_t option = CheapestOn(space_.option(choice(c).option).group, narrow);
    if (option != kNothing) changes_.emplace_back(c, Choice{option, unit});
    return option != kNothing;
  };
  if (!narrowed(at, pair->first) || !narrowed(static_cast<uint32_t>(other), pair->second)) return std::nullopt;
  std::vector<int64_t> keys(other + 1 - at);
  for (size_t c = 0; c < keys.size(); ++c) keys[c] = static_cast<int64_t>(c) * 2;
  keys.back() = 1;
  return Sorted(at, static_cast<uint32_t>(other) + 1, keys);
}

// Two units of one class with fewer cores than `width` that can run at once, by chance; none if there are none.
std::optional<std::pair<UnitId, UnitId>> Moves::NarrowPair(DeviceId device, uint32_t width) {
  std::vector<UnitClassId> classes;
  for (size_t c = 0; c < space_.platform().unit_classes.size(); ++c) {
    const UnitClass& unit_class = space_.platform().unit_classes[c];
    const bool narrower = unit_class.device == device && unit_class.cores > 0 && unit_class.cores < width;
    if (narrower && space_.units(UnitClassId(c)).size() > 1) classes.emplace_back(c);
  }
  if (classes.empty()) return std::nullopt;
  const std::span<const UnitId> units = space_.units(classes[random_.Below(classes.size())]);
  const size_t first = random_.Below(units.size());
  for (size_t i = 1; i < units.size(); ++i) {
    const UnitId second = units[(first + i) % units.size()];
    if (!UnitsConflict(space_.platform(), units[first], second)) return std::pair(units[first], second);
  }
  return std::nullopt;
}

uint32_t Moves::RandomReader(uint32_t at) {
  uint32_t next = kNothing;
  for (ValueId out : group(at).out) {
    for (NodeId reader : space_.value(out).consumers) {
      if (next == kNothing || random_.Below(2) == 0) next = now_.position(reader);
    }
  }
  return next;
}

std::vector<uint32_t> Moves::RunFrom(uint32_t at, size_t length) {
  std::vector<uint32_t> run = {at};
  while (run.size() < length) {
    const uint32_t next = RandomReader(run.back());
    if (next == kNothing) break;
    run.push_back(next);
  }
  return run;
}

// The run is in the order of its data, so each finds its makers where they have gone.
std::optional<Window> Moves::MoveTo(const std::vector<uint32_t>& run, UnitId unit) {
  const Unit& target = space_.platform().unit(unit);
  if (target.link) return std::nullopt;
  for (uint32_t c : run) {
    const uint32_t option = CheapestOn(space_.option(choice(c).option).group, target.unit_class);
    if (option != kNothing) changes_.emplace_back(c, Choice{option, unit});
  }
  return Changed();
}

std::optional<Window> Moves::MoveRun(uint32_t at) {
  const std::vector<uint32_t> run = RunFrom(at, 2 + random_.Below(7));
  return MoveTo(run, UnitId(random_.Below(space_.platform().units.size())));
}

// The only choice that reads what this one makes, if it reads nothing else; else kNothing.
uint32_t Moves::OnlyReader(uint32_t at) const {
  uint32_t only = kNothing;
  for (ValueId out : group(at).out) {
    for (NodeId reader : space_.value(out).consumers) {
      const uint32_t next = now_.position(reader);
      if (only != kNothing && only != next) return kNothing;
      only = next;
    }
  }
  return only;
}

uint32_t Moves::OnlyMaker(uint32_t at) const {
  uint32_t only = kNothing;
  for (ValueId in : group(at).in) {
    const NodeId maker = space_.value(in).producer;
    if (!maker.valid()) continue;
    const uint32_t from = now_.position(maker);
    if (only != kNothing && only != from) return kNothing;
    only = from;
  }
  return only;
}

// All around `at` that nothing else branches off from or joins.
std::vector<uint32_t> Moves::BranchOf(uint32_t at) const {
  constexpr size_t longest = 64;
  std::vector<uint32_t> branch = {at};
  for (uint32_t c = OnlyMaker(at); c != kNothing && branch.size() < longest && OnlyReader(c) == branch.back();
       c = OnlyMaker(c)) {
    branch.push_back(c);
  }
  std::reverse(branch.begin(), branch.end());
  for (uint32_t c = OnlyReader(at); c != kNothing && branch.size() < longest && OnlyMaker(c) == branch.back();
       c = OnlyReader(c)) {
    branch.push_back(c);
  }
  return branch;
}

std::optional<Window> Moves::MoveBranch(uint32_t at) {
  return MoveTo(BranchOf(at), UnitId(random_.Below(space_.platform().units.size())));
}

std::optional<Window> Moves::ChangeForms(uint32_t at) {
  const std::vector<uint32_t>& options = group(at).options;
  const uint32_t option = options[random_.Below(options.size())];
  const UnitClassId unit_class = space_.platform().unit(choice(at).unit).unit_class;
  if (space_.option(option).unit_class != unit_class) return std::nullopt;
  const std::vector<uint32_t> run = RunFrom(at, 2 + random_.Below(15));
  changes_.emplace_back(at, Choice{option, choice(at).unit});
  for (size_t i = 1; i < run.size(); ++i) {
    const Choice now = choice(run[i]);
    const uint32_t best = CheapestOn(space_.option(now.option).group, space_.option(now.option).unit_class);
    if (best != kNothing) changes_.emplace_back(run[i], Choice{best, now.unit});
  }
  return Changed();
}

std::optional<Window> Moves::Reorder(uint32_t at) {
  const auto back = static_cast<uint32_t>(1 + random_.Below(12));
  const uint32_t to = at - std::min(back, at);
  std::vector<int64_t> keys(at + 1 - to);
  for (size_t c = 0; c < keys.size(); ++c) keys[c] = static_cast<int64_t>(c) * 2;
  keys.back() = -1;
  // Makers come along: they get the same key, and makers go first.
  for (ValueId in : group(at).in) {
    const NodeId maker = space_.value(in).producer;
    if (maker.valid() && now_.position(maker) >= to) keys[now_.position(maker) - to] = -1;
  }
  return Sorted(to, at + 1, keys);
}

std::optional<Window> Moves::Swap(uint32_t at) {
  const auto back = static_cast<uint32_t>(1 + random_.Below(24));
  if (back > at) return std::nullopt;
  std::vector<int64_t> keys(back + 1);
  std::iota(keys.begin(), keys.end(), 0);
  std::swap(keys.front(), keys.back());
  return Sorted(at - back, at + 1, keys);
}

std::optional<Window> Moves::Graft(const Solution& other, const std::vector<uint32_t>& position,
                                   std::span<const NodeId> nodes) {
  const Solution& now = now_.solution();
  std::vector<uint32_t> ours, theirs;
  std::vector<NodeId> inside(nodes.begin(), nodes.end());
  std::vector<NodeId> next = inside;
  while (!next.empty()) {
    for (NodeId node : next) {
      ours.push_back(now_.position(node));
      theirs.push_back(position[node.index()]);
    }
    next.clear();
    for (auto [places, solution] : {std::pair(&ours, &now), std::pair(&theirs, &other)}) {
      std::sort(places->begin(), places->end());
      places->erase(std::unique(places->begin(), places->end()), places->end());
      for (uint32_t c : *places) {
        const std::vector<NodeId>& of = space_.group_of((*solution)[c].option).nodes;
        next.insert(next.end(), of.begin(), of.end());
      }
    }
    std::sort(inside.begin(), inside.end());
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::vector<NodeId> fresh;
    std::set_difference(next.begin(), next.end(), inside.begin(), inside.end(), std::back_inserter(fresh));
    inside.insert(inside.end(), fresh.begin(), fresh.end());
    next = std::move(fresh);
  }
  Window window{ours.front(), ours.back() + 1, {}};
  std::vector<int64_t> keys;
  const auto scale = static_cast<int64_t>(other.size() + 1);
  for (uint32_t c = window.from; c < window.to; ++c) {
    if (std::binary_search(ours.begin(), ours.end(), c)) continue;
    window.choices.push_back(now[c]);
    keys.push_back(int64_t{c} * scale);
  }
  for (uint32_t c : theirs) {
    window.choices.push_back(other[c]);
    keys.push_back(window.from * scale + int64_t{c});
  }
  if (!sorter_.Sort(window.choices, keys)) return std::nullopt;
  const bool same = window.choices.size() == window.to - window.from &&
                    std::equal(window.choices.begin(), window.choices.end(), now.begin() + window.from);
  return same ? std::nullopt : std::optional(std::move(window));
}

}  // namespace pt
