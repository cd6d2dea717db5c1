// What the kinds of costs are written with: the list of their keys, and what they read from a profile.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/cost/predictor.h"
#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

// Collects keys once each, in the order they were first met.
class KeyList {
 public:
  void Add(NeededKey key) {
    if (known_.insert(key.key.hash).second) keys_.push_back(std::move(key));
  }
  std::vector<NeededKey> Take() && { return std::move(keys_); }

 private:
  std::set<Hash128> known_;
  std::vector<NeededKey> keys_;
};

// A profile as the costs of a scope read it.
class CostReading {
 public:
  using Predict = std::function<std::optional<Estimate>(const WorkToPredict&)>;
  // predict: empty where only what was measured counts. Borrows what the scope does, and the profile.
  CostReading(const CostScope& scope, const Profile& profile, Predict predict)
      : scope_(scope), profile_(profile), predict_(std::move(predict)) {}

  const CostScope& scope() const { return scope_; }
  const Platform& platform() const { return scope_.platform; }
  const Profile& profile() const { return profile_; }
  // Nothing was measured: there is nothing to find, nor to predict from.
  bool is_empty() const { return profile_.measurements.empty(); }
  // Of a key that ran; null where it failed or is not there.
  const Measurement* Ran(const MeasurementKey& key) const;
  // What was measured of this key, or empty; failures too.
  std::optional<Estimate> TimeOf(const MeasurementKey& key) const;
  // What was measured of this work, nothing where that failed; else what is predicted of it.
  template <typename F>
  std::optional<Estimate> TimeOrPrediction(const MeasurementKey& key, const F& work_to_predict) const {
    const Measurement* known = profile_.find(key.hash);
    if (known != nullptr) return TimeOf(key);
    return predict_ ? predict_(work_to_predict()) : std::nullopt;
  }

 private:
  const CostScope scope_;
  const Profile& profile_;
  const Predict predict_;
};

// Fills in what one kind knows, each in its own fields. Made once a cost model, asked before planners are, except for
// steps of candidates that are not among the scope's. Thread-safe.
class CostReader {
 public:
  virtual ~CostReader() = default;
  virtual void OfStep(const Candidate&, StepCost&) const {}
  virtual void OfClass(UnitClassId, ClassCost&) const {}
  virtual void OfPair(UnitClassId /*from*/, UnitClassId /*to*/, PairCost&) const {}
  virtual void OfDevice(DeviceId, DeviceCost&) const {}
};

bool IsSimulatedClass(const Platform& platform, UnitClassId unit_class);
bool IsSimulatedLink(const Platform& platform, LinkId link);
std::string ClassName(const CostScope& scope, UnitClassId unit_class);

}  // namespace pt
