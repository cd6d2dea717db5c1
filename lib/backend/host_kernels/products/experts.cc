#include "lib/backend/host_kernels/products/experts.h"

#include <algorithm>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/elementwise/expression.h"
#include "lib/backend/host_kernels/products/expert_layer.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// What lies between the layers, of one row at a time.
struct Middle {
  ElementwisePart part;
  std::vector<const void*> in;   // constants; of what up makes null
  std::vector<int64_t> offsets;  // of those: of their first element in a row of up
};

struct ExpertMix {
  size_t tokens_at = 0, indices_at = 0, shares_at = 0;  // into the site's inputs
  std::vector<int64_t> token_strides, index_strides, share_strides, out_strides;
  DataType index_type = DataType::kInt64;
  int64_t experts = 0, tokens = 0, chosen = 0;
  ExpertProducts up, down;
  std::optional<Middle> middle;  // absent: down reads what up makes
  // Where things lie in the scratch, in bytes.
  uint64_t pairs_at = 0, rows_at = 0, up_at = 0, inner_at = 0, down_at = 0, parts_at = 0, bytes = 0;

  int64_t most_pairs() const { return tokens * chosen; }
};

// A token and an expert that it has chosen.
struct Pair {
  int64_t token = 0, expert = 0;
  float share = 0;
};

// Pairs of one expert, which follow each other.
struct Stretch {
  int64_t expert = 0, first = 0, count = 0;
};

// One run.
class Mixing {
 public:
  Mixing(const ExpertMix& mix, const HostCall& run)
      : m_(mix),
        run_(run),
        pairs_(reinterpret_cast<Pair*>(run.scratch + mix.pairs_at)),
        stretches_(reinterpret_cast<Stretch*>(pairs_ + mix.most_pairs())),
        begins_(reinterpret_cast<int64_t*>(stretches_ + mix.most_pairs())) {}

  Status Run() {
    PT_CHECK_OK(FindPairs());
    CopyTokens();
    Multiply(m_.up, Floats(m_.rows_at), Floats(m_.up_at));
    if (m_.middle) RunMiddle();
    Multiply(m_.down, Floats(m_.middle ? m_.inner_at : m_.up_at), Floats(m_.down_at));
    Sum();
    return {};
  }

 private:
  float* Floats(uint64_t at) const { return reinterpret_cast<float*>(run_.scratch + at); }
  int64_t width() const { return run_.team == nullptr ? 1 : run_.team->width(); }

  int64_t IndexAt(int64_t token, int64_t slot) const {
    const int64_t at = token * m_.index_strides[0] + slot * m_.index_strides[1];
    const int64_t index = m_.index_type == DataType::kInt64 ? run_.input<int64_t>(m_.indices_at)[at]
                                                            : run_.input<int32_t>(m_.indices_at)[at];
    return index < 0 ? index + m_.experts : index;
  }
  float ShareAt(int64_t token, int64_t slot) const {
    return run_.input<float>(m_.shares_at)[token * m_.share_strides[0] + slot * m_.share_strides[1]];
  }
  // Of an expert that is chosen twice the last share counts.
  bool Counts(int64_t token, int64_t slot) const {
    const int64_t expert = IndexAt(token, slot);
    for (int64_t later = slot + 1; later < m_.chosen; ++later) {
      if (IndexAt(token, later) == expert) return false;
    }
    return ShareAt(token, slot) != 0;
  }

  // By experts, tokens in order.
  Status FindPairs() {
    std::fill_n(begins_, m_.experts + 1, int64_t{0});
    for (int64_t t = 0; t < m_.tokens; ++t) {
      for (int64_t k = 0; k < m_.chosen; ++k) {
        const int64_t expert = IndexAt(t, k);
        if (expert < 0 || expert >= m_.experts) {
          return MakeError(ErrorCode::kInvalidInput, "host.index",
                           "ScatterElements: an index of an expert is out of range");
        }
        begins_[expert + 1] += Counts(t, k) ? 1 : 0;
      }
    }
    for (int64_t e = 0; e < m_.experts; ++e) {
      const int64_t count = begins_[e + 1];
      if (count > 0) stretches_[stretch_count_++] = {e, begins_[e], count};
      begins_[e + 1] += begins_[e];
    }
    pair_count_ = begins_[m_.experts];
    for (int64_t t = 0; t < m_.tokens; ++t) {
      for (int64_t k = 0; k < m_.chosen; ++k) {
        const int64_t expert = IndexAt(t, k);
        if (Counts(t, k)) pairs_[begins_[expert]++] = {t, expert, ShareAt(t, k)};
      }
    }
    return {};
  }

  void CopyTokens() {
    const int64_t depth = m_.up.depth(), row = m_.token_strides[1], step = m_.token_strides[2];
    const auto* x = run_.input<float>(m_.tokens_at);
    ParallelParts(run_.team, pair_count_, static_cast<double>(depth) * 0.1, width(),
                  [&](int64_t, int64_t begin, int64_t end) {
                    for (int64_t p = begin; p < end; ++p) {
                      const float* from = x + pairs_[p].token * row;
                      float* to = Floats(m_.rows_at) + p * depth;
                      if (step == 1) std::copy_n(from, depth, to);
                      for (int64_t i = 0; step != 1 && i < depth; ++i) to[i] = from[i * step];
                    }
                  });
  }

  // Chunks of columns of one expert after another, all its rows at once.
  void Multiply(const ExpertProducts& layer, const float* from, float* to) {
    const int64_t chunk = layer.chunk(), columns = layer.columns(), chunks = (columns + chunk - 1) / chunk;
    const double rows = static_cast<double>(pair_count_) / static_cast<double>(std::max<int64_t>(stretch_count_, 1));
    ParallelParts(run_.team, stretch_count_ * chunks, layer.work() * std::max(rows, 1.0), width() * 4,
                  [&](int64_t, int64_t begin, int64_t end) {
                    for (int64_t item = begin; item < end; ++item) {
                      const Stretch& s = stretches_[item / chunks];
                      const int64_t first = item % chunks * chunk;
                      layer.Multiply(s.expert, from + s.first * layer.depth(), s.count, first,
                                     std::min(chunk, columns - first), to + s.first * columns + first, columns);
                    }
                  });
  }

  void RunMiddle() {
    const Middle& middle = *m_.middle;
    const double work = middle.part.work * static_cast<double>(m_.down.depth());
    ParallelParts(run_.team, pair_count_, work, width(), [&](int64_t part, int64_t begin, int64_t end) {
      std::byte* slots = run_.scratch + m_.parts_at + static_cast<uint64_t>(part) * middle.part.bytes;
      std::array<const void*, kMostMiddleInputs> in{};
      void* out = nullptr;
      const HostCall call{std::span(in).first(middle.in.size()), std::span(&out, 1), nullptr, nullptr};
      for (int64_t p = begin; p < end; ++p) {
        const int64_t row = pairs_[p].expert * m_.tokens + pairs_[p].token;
        // As if all rows of all experts were there.
        for (size_t i = 0; i < middle.in.size(); ++i) {
          in[i] = middle.in[i] != nullptr ? middle.in[i]
                                          : Moved(Floats(m_.up_at), (p - row) * m_.up.columns() + middle.offsets[i]);
        }
        out = Moved(Floats(m_.inner_at), (p - row) * m_.down.depth());
        if (p == begin) middle.part.enter(call, slots);
        middle.part.run(call, slots, row * m_.down.depth(), (row + 1) * m_.down.depth());
      }
    });
  }

  // By a number of floats, which may lead out of the memory until an element is counted.
  static void* Moved(float* from, int64_t floats) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(floats) * sizeof(float));
  }

  // Of each token in the order of experts.
  void Sum() {
    const int64_t columns = m_.down.columns(), row = m_.out_strides[0], step = m_.out_strides[1];
    auto* y = run_.output<float>(0);
    const double work = static_cast<double>(pair_count_ + m_.tokens) * 0.3;
    ParallelParts(run_.team, columns, work, width(), [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t t = 0; t < m_.tokens; ++t) {
        for (int64_t i = begin; i < end; ++i) y[t * row + i * step] = 0;
      }
      for (int64_t p = 0; p < pair_count_; ++p) {
        const float* from = Floats(m_.down_at) + p * columns;
        float* to = y + pairs_[p].token * row;
        for (int64_t i = begin; i < end; ++i) to[i * step] += pairs_[p].share * from[i];
      }
    });
  }

 public:
  static constexpr size_t kMostMiddleInputs = 16;
  static uint64_t PairBytes(const ExpertMix& m) {
    return static_cast<uint64_t>(m.most_pairs()) * (sizeof(Pair) + sizeof(Stretch)) +
           static_cast<uint64_t>(m.experts + 1) * sizeof(int64_t);
  }

 private:
  const ExpertMix& m_;
  const HostCall& run_;
  Pair* pairs_;
  Stretch* stretches_;
  int64_t* begins_;
  int64_t pair_count_ = 0, stretch_count_ = 0;
};

class ExpertMaker {
 public:
  ExpertMaker(const HostSite& site, const Experts& experts) : site_(site), e_(experts) {}

  Result<HostRoutine> Make() {
    if (site_.dequantised) return site_.Unsupported("experts stay as they are stored");
    ExpertMix m;
    PT_CHECK_OK(ReadInputs(m));
    PT_ASSIGN(m.up, ExpertProducts::Make(site_.graph, e_.up, m.tokens));
    PT_ASSIGN(m.down, ExpertProducts::Make(site_.graph, e_.down, m.tokens));
    if (m.down.depth() < 2) return site_.Unsupported("experts of one column");
    PT_CHECK_OK(ReadMiddle(m));
    PT_CHECK_OK(Lay(m));
    HostRoutine routine;
    routine.scratch_bytes = m.bytes;
    const auto shared = std::make_shared<ExpertMix>(std::move(m));
    routine.pack = [shared, &graph = site_.graph, e = e_](CompileContext& context) -> Status {
      PT_CHECK_OK(shared->up.Pack(graph, e.up, context));
      return shared->down.Pack(graph, e.down, context);
    };
    routine.run = [shared](const HostCall& run) -> Status { return Mixing(*shared, run).Run(); };
    return routine;
  }

 private:
  Result<size_t> PlaceOf(ValueId value) const {
    const auto at = std::ranges::find(site_.in, value, &HostOperand::value);
    if (at == site_.in.end() || at->constant) return site_.Unsupported("experts of constant tokens or choices");
    return static_cast<size_t>(at - site_.in.begin());
  }

  Status ReadInputs(ExpertMix& m) const {
    PT_ASSIGN(m.tokens_at, PlaceOf(e_.tokens));
    PT_ASSIGN(m.indices_at, PlaceOf(e_.indices));
    PT_ASSIGN(m.shares_at, PlaceOf(e_.shares));
    const HostOperand &tokens = site_.in[m.tokens_at], &indices = site_.in[m.indices_at];
    const HostOperand &shares = site_.in[m.shares_at], &out = site_.out[0];
    for (const HostOperand* real : {&tokens, &shares, &out}) {
      if (real->type() != DataType::kFloat32) return site_.Unsupported("experts of other numbers than float32");
    }
    m.index_type = indices.type();
    if (m.index_type != DataType::kInt64 && m.index_type != DataType::kInt32)
      return site_.Unsupported("choices are neither int32 nor int64");
    m.experts = site_.graph.value(e_.up.matrices).type.static_dims()->front();
    m.tokens = tokens.dims()[1];
    m.chosen = indices.dims()[1];
    m.token_strides = tokens.strides();
    m.index_strides = indices.strides();
    m.share_strides = shares.strides();
    m.out_strides = out.strides();
    return {};
  }

  // As elementwise nodes on what up makes, or on some of its columns.
  Status ReadMiddle(ExpertMix& m) const {
    if (e_.inner == e_.up.result) return {};
    HostSite inner{site_.graph, e_.middle, {}, {}, 1};
    Middle middle;
    for (const NodeId id : e_.middle) {
      for (const ValueId value : site_.graph.node(id).inputs) {
        if (!value.valid() || std::ranges::find(inner.in, value, &HostOperand::value) != inner.in.end()) continue;
        const NodeId maker = site_.graph.value(value).producer;
        if (maker.valid() && std::ranges::find(e_.middle, maker) != e_.middle.end()) continue;
        PT_CHECK_OK(AddInput(m, value, inner, middle));
      }
    }
    const std::vector<int64_t> dims = {m.experts, m.tokens, m.down.depth()};
    HostOperand out;
    out.value = e_.inner;
    PT_ASSIGN(out.layout, DenseLayout(DataType::kFloat32, dims, RowMajor(3)));
    inner.out.push_back(std::move(out));
    if (e_.middle.empty() || inner.in.size() > Mixing::kMostMiddleInputs)
      return site_.Unsupported("what lies between the layers is not element-wise");
    PT_ASSIGN(middle.part, MakeElementwisePart(inner));
    m.middle = std::move(middle);
    return {};
  }

  Status AddInput(const ExpertMix& m, ValueId value, HostSite& inner, Middle& middle) const {
    HostOperand operand;
    operand.value = value;
    if (const auto given = std::ranges::find(site_.in, value, &HostOperand::value); given != site_.in.end()) {
      if (!given->constant) return site_.Unsupported("what lies between the layers reads more than they make");
      inner.in.push_back(*given);
      middle.in.push_back(given->constant->bytes().data());
      middle.offsets.push_back(0);
      return {};
    }
    int64_t begin = 0, step = 1, count = m.up.columns();
    if (value != e_.up.result) PT_CHECK_OK(ReadColumns(m, value, begin, step, count));
    if (count != m.down.depth()) return site_.Unsupported("what lies between the layers changes columns");
    PT_ASSIGN(operand.layout, DenseLayout(DataType::kFloat32, {m.experts, m.tokens, count}, RowMajor(3)));
    operand.layout.strides = {m.tokens * m.up.columns(), m.up.columns(), step};
    inner.in.push_back(std::move(operand));
    middle.in.push_back(nullptr);
    middle.offsets.push_back(begin);
    return {};
  }

  // Of a Slice of the last dim.
  Status ReadColumns(const ExpertMix& m, ValueId value, int64_t& begin, int64_t& step, int64_t& count) const {
    const Node& slice = site_.graph.node(site_.graph.value(value).producer);
    std::array<int64_t, 4> given = {0, 0, 0, 1};  // start, end, axis, step
    for (size_t i = 1; i < 5; ++i) {
      const bool there = i < slice.inputs.size() && slice.inputs[i].valid();
      const std::optional<Tensor> numbers = there ? site_.graph.value(slice.inputs[i]).constant : std::nullopt;
      if (there && (!numbers || numbers->element_count() != 1)) return site_.Unsupported("a Slice of several dims");
      if (numbers) given[i - 1] = numbers->ToInts()[0];
      if (!there && i < 4) return site_.Unsupported("a Slice without axes");
    }
    const int64_t columns = m.up.columns();
    if ((given[2] != 2 && given[2] != -1) || given[3] < 1) return site_.Unsupported("a Slice of another dim");
    const auto bounded = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + columns : at, 0, columns); };
    begin = bounded(given[0]);
    step = given[3];
    const int64_t end = bounded(given[1]);
    count = end > begin ? (end - begin + step - 1) / step : 0;
    return {};
  }

  Status Lay(ExpertMix& m) const {
    const auto pairs = CheckedMul(m.tokens, m.chosen);
    bool fits = pairs.has_value();
    const auto take = [&](uint64_t& at, uint64_t bytes) {
      at = m.bytes;
      const auto aligned = CheckedAlignUp(bytes, 64);
      fits = fits && aligned && !__builtin_add_overflow(m.bytes, *aligned, &m.bytes);
    };
    const auto floats = [&](int64_t columns) {
      const auto count = pairs ? CheckedMul(*pairs, columns) : std::nullopt;
      const auto bytes = count ? CheckedMul(*count, int64_t{4}) : std::nullopt;
      fits = fits && bytes;
      return bytes ? static_cast<uint64_t>(*bytes) : 0;
    };
    if (fits) take(m.pairs_at, Mixing::PairBytes(m));
    take(m.rows_at, floats(m.up.depth()));
    take(m.up_at, floats(m.up.columns()));
    take(m.inner_at, m.middle ? floats(m.down.depth()) : 0);
    take(m.down_at, floats(m.down.columns()));
    take(m.parts_at, m.middle ? m.middle->part.bytes * site_.width : 0);
    return fits ? Status() : Status(site_.Unsupported("experts of too many tokens"));
  }

  const HostSite& site_;
  const Experts& e_;
};

}  // namespace

std::vector<std::vector<NodeId>> ExpertGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (const auto experts = FindExperts(graph, NodeId(n))) groups.push_back(experts->nodes);
  }
  return groups;
}

Result<HostRoutine> MakeExperts(const HostSite& site, const Experts& experts) {
  return ExpertMaker(site, experts).Make();
}

}  // namespace pt::host
