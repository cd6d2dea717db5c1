#include "tools/pt-run/value_probes.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/graph/visit_type.h"

namespace pt::tools {

class ValueProbes::Probe final : public KernelProbe {
 public:
  Probe(const ValueProbes& probes, const Graph& graph, NodeId node) : probes_(probes), graph_(graph), node_(node) {}

  void Before(TensorSlots in) noexcept override { Show(in, false); }
  void After(TensorSlots out) noexcept override { Show(out, true); }

 private:
  void Show(TensorSlots slots, bool made) const noexcept {
    if (probes_.graph_ != &graph_) return;
    for (size_t i = 0; i < slots.size(); ++i) probes_.look_({node_, made, i}, *slots[i]);
  }

  const ValueProbes& probes_;
  const Graph& graph_;
  NodeId node_;
};

bool ValueProbes::IsExcluded(const WatchedKernelName& kernel) const {
  return inner_ != nullptr && inner_->IsExcluded(kernel);
}
bool ValueProbes::ExcludesAnyOf(std::string_view library) const {
  return inner_ != nullptr && inner_->ExcludesAnyOf(library);
}
void ValueProbes::Begin(const WatchedKernelName& kernel) noexcept {
  if (inner_ != nullptr) inner_->Begin(kernel);
}
void ValueProbes::End() noexcept {
  if (inner_ != nullptr) inner_->End();
}

std::shared_ptr<KernelProbe> ValueProbes::ProbeOf(const Graph& graph, const Candidate& candidate) {
  return std::make_shared<Probe>(*this, graph, candidate.nodes.front());
}

namespace {

// One element after the other, whatever layout and type they are stored in.
template <typename To, typename From>
void CopyElements(const TensorView& view, To* to) {
  const std::vector<int64_t>& dims = view.layout.dims;
  std::vector<int64_t> index(dims.size(), 0);
  const auto* const from = static_cast<const From*>(view.data);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    const From element = from[OffsetOf(view.layout, index)];
    if constexpr (std::is_same_v<To, From>) {
      to[i] = element;
    } else {
      to[i] = ElementOf<To>(NumberOf<double>(element));
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

bool CopyInto(const TensorView& view, DataType type, std::string& bytes) {
  if (view.layout.type == type && view.layout.layout.is_row_major() && IsDense(view.layout)) {
    std::memcpy(bytes.data(), view.data, bytes.size());
    return true;
  }
  return VisitType(type, [&]<typename To>() {
    if constexpr (kIsNumber<To>) {
      return VisitType(view.layout.type, [&]<typename From>() {
        if constexpr (kIsNumber<From>) {
          CopyElements<To, From>(view, reinterpret_cast<To*>(bytes.data()));
          return true;
        } else {
          return false;
        }
      });
    } else {
      return false;
    }
  });
}

}  // namespace

std::optional<Tensor> DenseTensor(const TensorView& view, DataType type) {
  const Result<int64_t> count = TensorByteCount(type, view.layout.dims);
  if (!count.ok()) return std::nullopt;
  std::string bytes(static_cast<size_t>(*count), '\0');
  if (!bytes.empty() && (view.data == nullptr || !CopyInto(view, type, bytes))) return std::nullopt;
  Result<Tensor> tensor = Tensor::FromBytes(type, view.layout.dims, std::move(bytes));
  return tensor.ok() ? std::optional(*std::move(tensor)) : std::nullopt;
}

}  // namespace pt::tools
