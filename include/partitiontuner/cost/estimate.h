// Estimate: a time, and what is known of how right it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pt {

enum class Provenance : uint8_t {
  kMeasured,   // exactly this was measured on this machine
  kSimulated,  // comes from a simulated device's file
  kEstimated,  // predicted from other measurements of the family
  kTable,      // given (tests, workload files)
};
std::string_view ProvenanceName(Provenance provenance);  // "measured"
std::optional<Provenance> ProvenanceFromName(std::string_view name);

struct Estimate {
  int64_t ns = 0;         // kEstimated: an upper one, that 80 % of such times keep within
  int64_t spread_ns = 0;  // half width of the 95 % confidence interval of the median
  Provenance provenance = Provenance::kTable;
  double relative_error = 0;        // expected |predicted/true - 1|; 0 for exact knowledge
  int64_t reference_ns = 0;         // of the reference work when this was measured; 0 where it is not known
  int64_t low_ns = 0, high_ns = 0;  // kEstimated by laws: the central 80 % of such times lie between; else 0
};

}  // namespace pt
