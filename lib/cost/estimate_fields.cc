#include "partitiontuner/cost/estimate_fields.h"

#include <array>

namespace pt {
namespace {

constexpr std::array kProvenances = {Provenance::kMeasured, Provenance::kSimulated, Provenance::kEstimated,
                                     Provenance::kTable};
constexpr FieldRange kTime = {0, std::numeric_limits<double>::infinity(),
                              "{key} is {value}, which is not a valid time"};

}  // namespace

void Fields(FieldVisitor& v, Estimate& estimate) {
  v.Field("ns", estimate.ns, FieldNote("the time").Within(kTime));
  v.Field("spread_ns", estimate.spread_ns, FieldNote("half width of its 95 % confidence interval").Within(kTime));
  ProvenanceField(v, estimate.provenance);
  v.Field("relative_error", estimate.relative_error,
          FieldNote("what is expected of the prediction; 0 where it is exact").Within(kNotNegative));
}

void ProvenanceField(FieldVisitor& v, Provenance& provenance) {
  v.Word("provenance", provenance, kProvenances, ProvenanceName,
         "where it comes from (`simulated`: a platform file, `table`: given)");
}

}  // namespace pt
