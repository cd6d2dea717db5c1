// LinearAttention: attention without softmax, as a recurrence over the tokens. Each key head has a state of
// [key size, value size], which the tokens write to and its query heads read; it is held and summed in float64.
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/attention.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

enum Input { kQuery, kKey, kValue, kPast, kDecay, kBeta };

struct Recurrence {
  int64_t batch = 0, length = 0;
  int64_t heads = 1, shared = 1;  // of keys, and query heads that read the state of each
  int64_t key_size = 0, value_size = 0;
  int64_t decays = 0;  // of a head and token: none, one, or one for each of the key's elements
  int64_t betas = 0;   // of a token: none, one for all heads, or one for each
  double scale = 1;

  int64_t state() const { return key_size * value_size; }
};

Status ReadHeads(const ReferenceSite& site, const LinearAttentionNode& node, Recurrence& r) {
  for (const Input input : {kQuery, kKey, kValue, kDecay, kBeta}) {
    if (site.has(input) && site.in[input].rank() != 3)
      return site.Invalid("input " + std::to_string(input) + " has dims " + DimsText(site.in[input].dims) +
                          "; expected [batch, length, size]");
  }
  const int64_t queries = node.q_heads;
  r.heads = node.kv_heads;
  r.shared = queries / r.heads;
  const std::vector<int64_t>&q = site.in[kQuery].dims, &k = site.in[kKey].dims, &v = site.in[kValue].dims;
  r.batch = q[0];
  r.length = q[1];
  r.key_size = q[2] / queries;
  r.value_size = v[2] / r.heads;
  if (q[2] % queries != 0 || v[2] % r.heads != 0 ||
      k != std::vector<int64_t>{r.batch, r.length, r.heads * r.key_size} || v[0] != r.batch || v[1] != r.length) {
    return site.Invalid("query of dims " + DimsText(q) + ", key of " + DimsText(k) + " and value of " + DimsText(v) +
                        " do not fit " + std::to_string(queries) + " and " + std::to_string(r.heads) + " heads");
  }
  return {};
}

// Which of decay and beta the rule takes: those, and no others, are given.
Status ReadRule(const ReferenceSite& site, const LinearAttentionNode& node, Recurrence& r) {
  const bool gated = node.is_gated, corrects = node.corrects;
  if (site.has(kDecay) != gated || site.has(kBeta) != corrects) {
    return site.Invalid("update_rule \"" + node.update_rule + "\" takes " + (gated ? "a" : "no") + " decay and " +
                        (corrects ? "a" : "no") + " beta");
  }
  const auto size_of = [&](Input input, int64_t other) -> Result<int64_t> {
    const std::vector<int64_t>& dims = site.in[input].dims;
    if (dims[0] == r.batch && dims[1] == r.length && (dims[2] == r.heads || dims[2] == other)) return dims[2];
    return site.Invalid("input " + std::to_string(input) + " of dims " + DimsText(dims) + " does not fit " +
                        std::to_string(r.heads) + " heads");
  };
  if (gated) {
    PT_ASSIGN(const int64_t size, size_of(kDecay, r.heads * r.key_size));
    r.decays = size / r.heads;
  }
  if (corrects) {
    PT_ASSIGN(r.betas, size_of(kBeta, 1));
  }
  return {};
}

// state = exp(decay) · state + key ⊗ written, where what is written is the value, or the part of it that the state
// does not say yet.
void Write(const Recurrence& r, const float* key, const float* value, const float* decay, const float* beta,
           double* state, double* written) {
  for (int64_t d = 0; r.decays > 0 && d < r.key_size; ++d) {
    const double kept = std::exp(static_cast<double>(decay[r.decays == 1 ? 0 : d]));
    for (int64_t m = 0; m < r.value_size; ++m) state[d * r.value_size + m] *= kept;
  }
  for (int64_t m = 0; m < r.value_size; ++m) {
    written[m] = static_cast<double>(value[m]);
    if (beta == nullptr) continue;
    double said = 0;
    for (int64_t d = 0; d < r.key_size; ++d) said += state[d * r.value_size + m] * static_cast<double>(key[d]);
    written[m] = static_cast<double>(*beta) * (written[m] - said);
  }
  for (int64_t d = 0; d < r.key_size; ++d) {
    for (int64_t m = 0; m < r.value_size; ++m) {
      state[d * r.value_size + m] += static_cast<double>(key[d]) * written[m];
    }
  }
}

void Read(const Recurrence& r, const float* query, const double* state, float* out) {
  for (int64_t m = 0; m < r.value_size; ++m) {
    double sum = 0;
    for (int64_t d = 0; d < r.key_size; ++d) sum += static_cast<double>(query[d]) * state[d * r.value_size + m];
    out[m] = static_cast<float>(r.scale * sum);
  }
}

// All tokens of one key head of one entry; state and `written` are its own.
void RunHead(const Recurrence& r, const TensorCall& run, int64_t entry, int64_t head, double* state, double* written) {
  const int64_t at = (entry * r.heads + head) * r.state();
  for (int64_t i = 0; i < r.state(); ++i) {
    state[i] = run.in<float>(kPast) == nullptr ? 0 : static_cast<double>(run.in<float>(kPast)[at + i]);
  }
  for (int64_t t = 0; t < r.length; ++t) {
    const int64_t token = entry * r.length + t, slot = token * r.heads + head;
    const float* beta = r.betas == 0 ? nullptr : run.in<float>(kBeta) + token * r.betas + (r.betas == 1 ? 0 : head);
    const float* decay = r.decays == 0 ? nullptr : run.in<float>(kDecay) + slot * r.decays;
    Write(r, run.in<float>(kKey) + slot * r.key_size, run.in<float>(kValue) + slot * r.value_size, decay, beta, state,
          written);
    for (int64_t q = slot * r.shared; q < (slot + 1) * r.shared && run.out<float>(0) != nullptr; ++q) {
      Read(r, run.in<float>(kQuery) + q * r.key_size, state, run.out<float>(0) + q * r.value_size);
    }
  }
  for (int64_t i = 0; run.out<float>(1) != nullptr && i < r.state(); ++i) {
    run.out<float>(1)[at + i] = static_cast<float>(state[i]);
  }
}

Result<ReferenceRoutine> LinearAttention(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 6));
  for (size_t i = 0; i < site.in.size(); ++i) {
    if (site.has(i) && site.in[i].type != DataType::kFloat32) return UnsupportedType(site, site.in[i].type);
  }
  Recurrence r;
  PT_ASSIGN(const LinearAttentionNode node, OrInvalid(ReadLinearAttention(site.node), site));
  PT_CHECK_OK(ReadHeads(site, node, r));
  PT_CHECK_OK(ReadRule(site, node, r));
  r.scale = node.ScaleOf(r.key_size);
  const std::vector<int64_t> states = {r.batch, r.heads, r.key_size, r.value_size};
  PT_CHECK_OK(site.NeedDims(kPast, "past_state", states));
  // A state and what a token writes, for each head of each entry.
  const std::optional<int64_t> width = CheckedProduct(std::array{r.heads, r.shared, r.value_size}),
                               state = CheckedMul(r.key_size, r.value_size),
                               own = state ? CheckedAdd(*state, r.value_size) : std::nullopt,
                               count = CheckedMul(r.batch, r.heads);
  const std::optional<int64_t> bytes =
      own && count ? CheckedProduct(std::array{*own, *count, int64_t{sizeof(double)}}) : std::nullopt;
  if (!width || !bytes) return site.Invalid("the size of its states or of its output does not fit 63 bits");
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, {r.batch, r.length, *width}));
  PT_CHECK_OK(site.Out(1, DataType::kFloat32, states));
  ReferenceRoutine routine;
  routine.scratch_bytes = static_cast<uint64_t>(*bytes);
  routine.run = [r, own = *own, count = *count](const TensorCall& run) -> Status {
    const double work = static_cast<double>(r.length * r.state()) * 2;
    ParallelRanges(run.team, count, work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* state = reinterpret_cast<double*>(run.scratch) + i * own;
        RunHead(r, run, i / r.heads, i % r.heads, state, state + r.state());
      }
    });
    return {};
  };
  return routine;
}

constexpr std::array kLinearAttentionOperators = {
    ReferenceRow{.op = "LinearAttention", .make = LinearAttention, .feeding = Feeding::kWidened, .since = 27},
};

}  // namespace

std::span<const ReferenceRow> LinearAttentionOperators() { return kLinearAttentionOperators; }

}  // namespace pt::reference
