#include "lib/cost/kinds/fetch.h"

#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

// From a few lines to more than a core's own caches hold: beyond that, nothing lies in them that another core made.
constexpr uint64_t kLeastBytes = uint64_t{1} << 10;
constexpr uint64_t kMostBytes = uint64_t{4} << 20;

std::vector<uint64_t> Ladder() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

void List(const CostScope& scope, KeyList& keys) {
  const size_t count = scope.platform.unit_classes.size();
  for (size_t pair = 0; pair < count * count; ++pair) {
    const UnitClassId from(pair / count), to(pair % count);
    const bool simulated = IsSimulatedClass(scope.platform, from) || IsSimulatedClass(scope.platform, to);
    if (simulated || !IsFetched(scope.platform, from, to)) continue;
    for (const uint64_t bytes : Ladder()) {
      keys.Add({FetchKey(scope.platform, from, to, bytes), &kFetchKind, PairWork{from, to, bytes}, 0,
                static_cast<double>(bytes)});
    }
  }
}

std::string Label(const CostScope& scope, const NeededKey& needed) {
  return "fetching " + std::to_string(needed.pair().bytes) + " bytes to " + ClassName(scope, needed.pair().to);
}

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {}
  void OfPair(UnitClassId from, UnitClassId to, PairCost& cost) const override {
    cost.fetch = ReadFetch(reading_, from, to);
  }

 private:
  const CostReading& reading_;
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kFetchKind = {"fetch", CostKind::Turn::kFirst, false, List, Label, Read};

MeasurementKey FetchKey(const Platform& platform, UnitClassId from, UnitClassId to, uint64_t bytes) {
  return MakeKey("fetch " + std::to_string(bytes) + " | " + UnitClassFields(platform, from) + " | " +
                 UnitClassFields(platform, to));
}

bool IsFetched(const Platform& platform, UnitClassId from, UnitClassId to) {
  return platform.unit_class(from).on_host() && platform.unit_class(to).on_host() &&
         HandOverUnits(platform, from, to).has_value();
}

// What was never measured counts nothing, and says that it is a guess.
FetchCost ReadFetch(const CostReading& reading, UnitClassId from, UnitClassId to) {
  FetchCost cost{{}, 0, Provenance::kEstimated};
  if (!IsFetched(reading.platform(), from, to)) return cost;
  for (const uint64_t bytes : Ladder()) {
    const Measurement* row = reading.Ran(FetchKey(reading.platform(), from, to, bytes));
    if (row == nullptr) continue;
    cost.points.emplace_back(bytes, row->median_ns);
    cost.provenance = row->provenance;
  }
  return cost;
}

}  // namespace pt
