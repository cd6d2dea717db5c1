#include "partitiontuner/backend/datum_view.h"

namespace pt {
namespace {

bool IsStrings(const Datum& datum) { return datum.is_tensor() && datum.tensor().type() == DataType::kString; }

}  // namespace

TensorView ViewOf(const Datum& datum) {
  TensorView view{const_cast<Datum*>(&datum), {}};  // NOLINT
  if (!IsStrings(datum)) return view;
  const std::vector<int64_t>& dims = datum.tensor().dims();
  view.layout = DenseLayout(DataType::kString, dims, RowMajor(dims.size())).value();  // a tensor's dims have a product
  return view;
}

Status PutDatum(OutputAllocator& outputs, uint32_t index, Datum datum) {
  const bool strings = IsStrings(datum);
  PT_ASSIGN(const TensorView slot,
            outputs.Allocate(index, strings ? DataType::kString : DataType::kUndefined,
                             strings ? std::span<const int64_t>(datum.tensor().dims()) : std::span<const int64_t>()));
  *static_cast<Datum*>(slot.data) = std::move(datum);
  return {};
}

}  // namespace pt
