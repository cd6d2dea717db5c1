#include "test/testing/run_candidate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <random>
#include <sstream>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/visit_type.h"
#include "test/testing/kernel_bench.h"

namespace pt::testing {
namespace {

// With the tensors between kernels.
struct Bench : KernelBench {
  using KernelBench::KernelBench;

  Result<TensorView> Allocate(const TensorLayout& layout) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, driver->Allocate(std::max<uint64_t>(1, bytes)));
    // What a kernel leaves unwritten must not look right by chance.
    std::memset(buffer->data(), 0xA5, static_cast<size_t>(bytes));
    TensorView view{bytes == 0 ? nullptr : buffer->data(), layout};
    buffers.push_back(std::move(buffer));
    return view;
  }

  Status Reorder(const Library& library, UnitClassId unit_class, const TensorView& from, const TensorView& to) {
    const std::unique_ptr<Library> reference = MakeReferenceLibrary();
    const Form from_form{from.layout.layout, from.layout.type}, to_form{to.layout.layout, to.layout.type};
    const bool able = library.CanReorder(context.platform, unit_class, from.layout.dims, from_form, to_form);
    PT_ASSIGN(const std::unique_ptr<Kernel> kernel,
              (able ? library : *reference).CompileReorder(from.layout, to.layout, context));
    return Run(*kernel, {&from, 1}, {&to, 1});
  }

  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
};

bool IsPlain(const Form& form, DataType type) { return form.layout.is_row_major() && form.storage == type; }

Result<TensorView> PlainView(Bench& bench, const Tensor& tensor) {
  PT_ASSIGN(const TensorLayout layout, DenseLayout(tensor.type(), tensor.dims(), RowMajor(tensor.dims().size())));
  PT_ASSIGN(const TensorView view, bench.Allocate(layout));
  if (view.data != nullptr) std::memcpy(view.data, tensor.bytes().data(), tensor.bytes().size());
  return view;
}

Result<Tensor> ToTensor(const TensorView& view) {
  PT_ASSIGN(const uint64_t bytes, BytesOf(view.layout));
  return Tensor::FromBytes(view.layout.type, view.layout.dims, std::string(static_cast<const char*>(view.data), bytes));
}

Result<std::vector<Tensor>> RunOn(Bench& bench, const Graph& graph, const Library& library, const Candidate& candidate,
                                  std::span<const Tensor> inputs, WeightStore* weights) {
  std::vector<TensorView> in, out;
  std::vector<TensorLayout> in_layouts, out_layouts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    PT_ASSIGN(TensorView view, PlainView(bench, inputs[i]));
    if (!IsPlain(candidate.in[i], inputs[i].type())) {
      PT_ASSIGN(const TensorLayout wanted,
                DenseLayout(candidate.in[i].storage, inputs[i].dims(), candidate.in[i].layout));
      PT_ASSIGN(const TensorView reordered, bench.Allocate(wanted));
      PT_CHECK_OK(bench.Reorder(library, candidate.unit_class, view, reordered));
      view = reordered;
    }
    in_layouts.push_back(view.layout);
    in.push_back(view);
  }
  const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::optional<std::vector<int64_t>> dims = graph.value(outputs[i]).type.static_dims();
    if (!dims) return MakeError(ErrorCode::kUnsupported, "test.dims", "an output's dims are unknown");
    PT_ASSIGN(const TensorLayout layout, DenseLayout(candidate.out[i].storage, *dims, candidate.out[i].layout));
    PT_ASSIGN(TensorView view, bench.Allocate(layout));
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    std::memset(view.data, 0xFF, bytes);  // results do not depend on what was there
    for (const Alias& alias : candidate.aliases) {
      if (alias.out == i && alias.kind == Alias::Kind::kRequired) view.data = in[alias.in].data;
    }
    out_layouts.push_back(layout);
    out.push_back(view);
  }
  CompileContext context{bench.context.platform, bench.context.device, bench.context.team,
                         weights != nullptr ? *weights : bench.context.weights, bench.context.subgraphs};
  PT_ASSIGN(const std::unique_ptr<Kernel> kernel, library.Compile(graph, candidate, in_layouts, out_layouts, context));
  PT_CHECK_OK(bench.Run(*kernel, in, out));
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DataType type = graph.value(outputs[i]).type.type;
    if (!IsPlain(candidate.out[i], type)) {
      PT_ASSIGN(const TensorLayout plain, DenseLayout(type, out[i].layout.dims, RowMajor(out[i].layout.dims.size())));
      PT_ASSIGN(const TensorView view, bench.Allocate(plain));
      PT_CHECK_OK(bench.Reorder(library, candidate.unit_class, out[i], view));
      out[i] = view;
    }
    PT_ASSIGN(Tensor tensor, ToTensor(out[i]));
    results.push_back(std::move(tensor));
  }
  return results;
}

std::string Number(double x) {
  std::ostringstream text;
  text << std::setprecision(9) << x;
  return text.str();
}

// Of floating-point types.
double FloatAt(const Tensor& tensor, int64_t i) {
  return VisitType(tensor.type(), [&]<typename T>() -> double {
    if constexpr (kIsFloat<T>) return NumberOf<double>(tensor.values<T>()[static_cast<size_t>(i)]);
    std::abort();  // Difference compares others bit by bit
  });
}

}  // namespace

Result<std::vector<Tensor>> RunCandidate(const Graph& graph, const Platform& platform, const Library& library,
                                         const Candidate& candidate, std::span<const Tensor> inputs,
                                         uint32_t team_width, WeightStore* weights) {
  Bench bench(platform, team_width);
  return RunOn(bench, graph, library, candidate, inputs, weights);
}

Result<std::vector<Tensor>> RunGraph(const Graph& graph, const Platform& platform, const Library& library,
                                     std::span<const Tensor> inputs, uint32_t team_width,
                                     std::map<ValueId, Tensor>* values) {
  std::map<ValueId, Tensor> known;
  for (size_t i = 0; i < graph.inputs().size(); ++i) known[graph.inputs()[i]] = inputs[i];
  for (size_t v = 0; v < graph.values().size(); ++v) {
    if (graph.values()[v].is_constant()) known[ValueId(v)] = *graph.values()[v].constant;
  }
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId id(n);
    const std::vector<Candidate> candidates = library.CandidatesFor(graph, platform, {&id, 1}, Precision());
    const auto candidate = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return platform.unit_class(c.unit_class).cores == team_width;
    });
    if (candidate == candidates.end()) {
      return MakeError(ErrorCode::kUnsupported, "test.unsupported",
                       NodeLabel(graph, id) + ": " + library.WhyUnsupported(graph, id).value_or("no candidate"));
    }
    std::vector<Tensor> in;
    for (ValueId value : GroupInputs(graph, {&id, 1})) in.push_back(known.at(value));
    PT_ASSIGN(std::vector<Tensor> out, RunCandidate(graph, platform, library, *candidate, in, team_width));
    const std::vector<ValueId> outputs = GroupOutputs(graph, {&id, 1});
    for (size_t i = 0; i < outputs.size(); ++i) known[outputs[i]] = std::move(out[i]);
  }
  std::vector<Tensor> results;
  for (ValueId id : graph.outputs()) results.push_back(known.at(id));
  if (values != nullptr) *values = std::move(known);
  return results;
}

Tensor RandomTensor(DataType type, const std::vector<int64_t>& dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::string bytes;
  std::normal_distribution<float> normal(0, 1);
  VisitType(type, [&]<typename T>() {
    if constexpr (kIsNumber<T>) {
      for (int64_t i = 0; i < count; ++i) {
        T element{};
        if constexpr (kIsFloat<T>) {
          element = ElementOf<T>(normal(random));
        } else if constexpr (std::is_same_v<T, bool>) {
          element = random() % 2 != 0;
        } else {
          element = static_cast<T>(static_cast<int>(random() % 21) - (std::is_signed_v<T> ? 10 : 0));
        }
        bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
      }
    } else {
      bytes.assign(static_cast<size_t>((count * BitsOf(type) + 7) / 8), '\0');
    }
  });
  return Tensor::FromBytes(type, dims, std::move(bytes)).value();
}

std::string Difference(const Tensor& actual, const Tensor& expected, double tolerance, int64_t steps) {
  if (actual.type() != expected.type() || actual.dims() != expected.dims()) {
    return ToString(StaticType(actual.type(), actual.dims())) + " instead of " +
           ToString(StaticType(expected.type(), expected.dims()));
  }
  if (steps > 0 && IsByte(expected.type())) {
    const std::vector<int64_t> a = actual.ToInts(), e = expected.ToInts();
    for (size_t i = 0; i < e.size(); ++i) {
      if (std::abs(a[i] - e[i]) <= steps) continue;
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + " instead of " + std::to_string(e[i]);
    }
    return "";
  }
  if (!IsFloating(expected.type()) || BitsOf(expected.type()) < 16) {
    return std::equal(actual.bytes().begin(), actual.bytes().end(), expected.bytes().begin()) ? "" : "elements differ";
  }
  double most = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    if (std::isfinite(FloatAt(expected, i))) most = std::max(most, std::fabs(FloatAt(expected, i)));
  }
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double a = FloatAt(actual, i), e = FloatAt(expected, i);
    const bool same = std::isnan(e)   ? std::isnan(a)
                      : std::isinf(e) ? a == e
                                      : std::fabs(a - e) <= tolerance * std::max(most, 1e-30);
    if (!same)
      return "element " + std::to_string(i) + " is " + Number(a) + " instead of " + Number(e) + " (largest " +
             Number(most) + ")";
  }
  return "";
}

}  // namespace pt::testing
