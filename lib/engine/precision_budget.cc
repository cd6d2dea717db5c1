#include "lib/engine/precision_budget.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

namespace pt {
namespace {

// Other data shows other errors, so what is chosen by some data keeps this share of the budget there.
constexpr double kMargin = 0.8;
constexpr size_t kMostConfirmations = 5;  // a choice that is refused is made again within less
constexpr size_t kMostAdditions = 8;      // parts tried behind the first that did not fit

class Chooser {
 public:
  Chooser(LoweringTrials& trials, double max_error) : trials_(trials), max_error_(max_error) {}

  Result<LoweringChoice> Choose() {
    const Lowering fp32(trials_.parts(), false);
    double target = kMargin * max_error_;
    for (size_t i = 0; i < kMostConfirmations && trials_.parts() > 0; ++i) {
      const Status searched = SearchWithin(target);
      const bool interrupted = !searched.ok() && searched.error().code == ErrorCode::kInterrupted;
      if (!searched.ok() && !interrupted) return searched.error();
      const auto best = FastestWithin(target);
      if (best == tried_.end()) break;
      PT_ASSIGN(const double confirmed, trials_.Confirm(best->first));
      if (confirmed <= max_error_) return LoweringChoice{best->first, best->second.outcome, confirmed};
      if (interrupted) break;
      best->second.refused = true;
      // Half the way, by magnitude, to as much less as the other data showed more: that was the largest of many. Where
      // it is infinitely more, half tells as little as any share.
      const double share = std::isfinite(confirmed) ? std::sqrt(kMargin * max_error_ / confirmed) : 0.5;
      target = best->second.outcome.typical * share;
    }
    return LoweringChoice{fp32, {0, 0, trials_.fp32_ns()}, 0};
  }

 private:
  struct Tried {
    LoweringTrials::Outcome outcome;
    bool refused = false;  // its error on the other data was beyond the budget
  };
  using TriedMap = std::map<Lowering, Tried>;

  // target: of the typical error. The largest is held to the budget itself, less the margin.
  bool IsWithin(const Tried& tried, double target) const {
    return !tried.refused && tried.outcome.largest <= kMargin * max_error_ && tried.outcome.typical <= target;
  }

  Result<bool> Holds(const Lowering& lowering, double target) {
    auto at = tried_.find(lowering);
    if (at == tried_.end()) {
      PT_ASSIGN(const LoweringTrials::Outcome outcome, trials_.Try(lowering));
      at = tried_.emplace(lowering, Tried{outcome}).first;
    }
    return IsWithin(at->second, target);
  }

  // Everything at once; else as many parts as fit in the order of what they save for their error, then single ones
  // from behind those.
  Status SearchWithin(double target) {
    PT_ASSIGN(const bool all, Holds(Lowering(trials_.parts(), true), target));
    if (all) return {};
    PT_CHECK_OK(MeasureParts());
    std::vector<size_t> order;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(order),
                 [&](size_t part) { return alone_[part] <= target; });
    size_t fits = 0, too_many = order.size() + 1;
    while (too_many - fits > 1) {
      const size_t middle = fits + (too_many - fits) / 2;
      PT_ASSIGN(const bool holds, Holds(First(order, middle), target));
      (holds ? fits : too_many) = middle;
    }
    return AddSingly(First(order, fits), std::span(order).subspan(std::min(fits + 1, order.size())), target);
  }

  Lowering First(const std::vector<size_t>& order, size_t count) const {
    Lowering lowering(trials_.parts(), false);
    for (size_t i = 0; i < count; ++i) lowering[order[i]] = true;
    return lowering;
  }

  Status AddSingly(Lowering lowering, std::span<const size_t> parts, double target) {
    const auto known = tried_.find(lowering);
    double error = known == tried_.end() ? 0 : known->second.outcome.typical;
    size_t tries = 0;
    for (const size_t part : parts) {
      if (tries == kMostAdditions) break;
      if (std::hypot(error, alone_[part]) > target) continue;
      ++tries;
      lowering[part] = true;
      PT_ASSIGN(const bool holds, Holds(lowering, target));
      if (holds) error = tried_.at(lowering).outcome.typical;
      if (!holds) lowering[part] = false;
    }
    return {};
  }

  // Roundings are independent of each other, so errors of parts add up as their squares do: a part's price is its
  // square. Parts without an error come first.
  Status MeasureParts() {
    if (!alone_.empty()) return {};
    for (size_t part = 0; part < trials_.parts(); ++part) {
      PT_ASSIGN(const double error, trials_.ErrorAlone(part));
      alone_.push_back(error);
    }
    order_.resize(alone_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::erase_if(order_, [&](size_t part) { return !std::isfinite(alone_[part]); });
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      const auto saved = [&](size_t part) { return static_cast<double>(trials_.saved_ns(part)); };
      const auto price = [&](size_t part) { return alone_[part] * alone_[part]; };
      if ((price(a) == 0) != (price(b) == 0)) return price(a) == 0;
      return saved(a) * price(b) > saved(b) * price(a);
    });
    return {};
  }

  // Of what was tried: the fastest. No error is taken for a gain within the noise.
  TriedMap::iterator FastestWithin(double target) {
    auto best = tried_.end();
    for (auto at = tried_.begin(); at != tried_.end(); ++at) {
      const Tried& tried = at->second;
      if (!IsWithin(tried, target) || tried.outcome.ns >= trials_.fp32_ns() - trials_.noise_ns()) continue;
      if (best == tried_.end() || tried.outcome.ns < best->second.outcome.ns) best = at;
    }
    return best;
  }

  LoweringTrials& trials_;
  const double max_error_;
  TriedMap tried_;
  std::vector<double> alone_;  // by part, once measured
  std::vector<size_t> order_;  // parts with a finite error, the best bargain first
};

}  // namespace

Result<LoweringChoice> ChooseLowering(LoweringTrials& trials, double max_error) {
  return Chooser(trials, max_error).Choose();
}

size_t MostTrials(size_t parts) {
  if (parts == 0) return 0;
  return 1 + parts + kMostConfirmations * (static_cast<size_t>(std::bit_width(parts)) + kMostAdditions);
}

}  // namespace pt
