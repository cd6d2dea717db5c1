// RotaryEmbedding and GroupQueryAttention of ONNX Runtime. Expected numbers are its own, of version 1.32, with the same
// inputs.
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_cache_test {
namespace {

Tensor Map(const Tensor& x, float (*f)(float)) {
  std::vector<float> values;
  for (const float value : x.values<float>()) values.push_back(f(value));
  return Floats(x.dims(), values);
}
const Tensor kAngles = Cycle({4, 8}, 0, 0.3F, 1, 7);
const Tensor kCosines = Map(kAngles, std::cos), kSines = Map(kAngles, std::sin);

// The tokens [begin, end) of [batch, tokens, size].
Tensor Part(const Tensor& x, int64_t begin, int64_t end) {
  const std::span<const float> all = x.values<float>();
  std::vector<float> values;
  for (int64_t b = 0; b < x.dims()[0]; ++b) {
    for (int64_t i = begin * x.dims()[2]; i < end * x.dims()[2]; ++i) {
      values.push_back(all[static_cast<size_t>(b * x.dims()[1] * x.dims()[2] + i)]);
    }
  }
  return Floats({x.dims()[0], end - begin, x.dims()[2]}, values);
}

Single Grouped(std::vector<GivenInput> inputs, std::vector<Wire> attributes = {}) {
  Single single = {"GroupQueryAttention",
                   std::move(inputs),
                   {IntAttribute("num_heads", 2), IntAttribute("kv_num_heads", 1)},
                   {"y", "present_key", "present_value"}};
  for (Wire& attribute : attributes) single.attributes.push_back(std::move(attribute));
  return single;
}

Error RunFault(const Single& single) {
  const Graph graph = Load(BytesOf(single)).value();
  std::vector<Tensor> inputs;
  for (const GivenInput& operand : single.inputs) {
    if (operand.tensor.type() != DataType::kUndefined && !operand.constant) inputs.push_back(operand.tensor);
  }
  const auto refused = EvaluateGraph(graph, inputs);
  REQUIRE_FALSE(refused.ok());
  return refused.error();
}

void CheckSame(const Tensor& a, const Tensor& b) {
  REQUIRE(a.dims() == b.dims());
  for (size_t i = 0; i < a.values<float>().size(); ++i) {
    CHECK(a.values<float>()[i] == Catch::Approx(b.values<float>()[i]).margin(1e-5));
  }
}

TEST_CASE("Contrib, RotaryEmbeddingTurnsByPositionsFromAnOffset", "[onnx]") {
  const Tensor x = Cycle({2, 2, 32}, -1, 0.1F, 7, 23);
  const Tensor each = Tensor::Int64({2, 2}, {1, 2, 1, 2}), first = Tensor::Int64({1}, {1});
  const auto turned = [&](const Tensor& positions, std::vector<Wire> attributes) {
    return Results({"RotaryEmbedding", {x, positions, kCosines, kSines}, std::move(attributes)})[0];
  };
  const Tensor expected = turned(each, {IntAttribute("num_heads", 2)});
  CheckSame(turned(first, {IntAttribute("num_heads", 2)}), expected);
  CheckSame(turned(first, {}), expected);  // two heads as wide as twice the table
  // The pair of elements 0 and 8 of the second token turns by the angle at position 2, which is 0.6.
  const float a = x.values<float>()[32], b = x.values<float>()[40], c = std::cos(0.6F), s = std::sin(0.6F);
  CHECK(expected.values<float>()[32] == Catch::Approx(a * c - b * s));
  CHECK(expected.values<float>()[40] == Catch::Approx(a * s + b * c));
}

TEST_CASE("Contrib, RotaryEmbeddingRefusesWhatItDoesNotHave", "[onnx]") {
  const Tensor x = Cycle({1, 2, 30}, -1, 0.1F, 7, 23), positions = Tensor::Int64({1}, {0});
  const std::vector<GivenInput> inputs = {x, positions, kCosines, kSines};
  CHECK(Mentions(FaultOf({"RotaryEmbedding", inputs}), "the 30 columns of input are not heads of twice the 8 columns"));
  CHECK(Mentions(FaultOf({"RotaryEmbedding", inputs, {IntAttribute("is_packed_batching", 1)}}), "is_packed_batching"));
  CHECK(Mentions(FaultOf({"RotaryEmbedding", inputs, {FloatAttribute("scale", 2)}}), "a scale other than 1"));
  CHECK(
      Mentions(FaultOf({"RotaryEmbedding", inputs, {IntAttribute("rotary_embedding_dim", 4)}}), "num_heads is needed"));
}

TEST_CASE("Contrib, GroupQueryAttentionOfAFirstPrompt", "[onnx]") {
  const auto all = Results(
      Grouped({Cycle({1, 2, 64}, -1, 0.1F, 7, 23), {}, {}, {}, {}, Int32({1}, {1}), Int32({1}, {2}), kCosines, kSines},
              {IntAttribute("do_rotary", 1)}));
  CheckNear(all[0], {1, 2, 32},
            {0.39999998F,
             1.1000001F,
             -0.5F,
             0.20000005F,
             0.89999998F,
             -0.69999999F,
             0,
             0.70000005F,
             -0.89999998F,
             -0.19999999F,
             0.5F,
             1.2F,
             -0.39999998F,
             0.30000007F,
             1,
             -0.60000002F,
             0.39999998F,
             1.1000001F,
             -0.5F,
             0.20000005F,
             0.89999998F,
             -0.69999999F,
             0,
             0.70000005F,
             -0.89999998F,
             -0.19999999F,
             0.5F,
             1.2F,
             -0.39999998F,
             0.30000007F,
             1,
             -0.60000002F,
             -0.050089449F,
             0.64991063F,
             -0.087418005F,
             -0.25008938F,
             0.44991052F,
             -0.28741801F,
             0.41258204F,
             0.24991058F,
             -0.48741794F,
             0.21258196F,
             0.049910564F,
             0.74991053F,
             0.012582015F,
             -0.15008938F,
             0.54991055F,
             -0.18741803F,
             -0.5407058F,
             0.15929425F,
             0.36231372F,
             -0.74070579F,
             -0.040705841F,
             0.16231366F,
             0.86231381F,
             -0.24070582F,
             -0.037686285F,
             0.6623137F,
             -0.44070584F,
             0.25929418F,
             0.46231374F,
             -0.64070582F,
             0.059294183F,
             0.26231366F});
  CheckNear(
      all[1], {1, 1, 2, 16},
      {0.70000005F,  -0.88935488F, -0.61678118F, 0.9374665F,   0.5280332F,   -0.62679189F, 0.90568697F,  1,
       -0.60000002F, -0.1704345F,  0.54734004F,  -0.1056245F,  1.0822111F,   -0.35655564F, 0.51935655F,  -0.30000001F,
       -0.62542838F, -0.51250386F, 0.87277967F,  -0.53326219F, -0.997495F,   0.4252671F,   -0.89999998F, -0.42748347F,
       0.32990813F,  1.1033313F,   0.45635027F,  -0.54372001F, 0.070737198F, 0.81801468F,  0.10000002F,  0.70516527F});
}

// Two entries, of one and three tokens before, with a window, a cap and a bias.
TEST_CASE("Contrib, GroupQueryAttentionGoesOnFromPastsOfDifferentLengths", "[onnx]") {
  const auto all = Results(
      Grouped({Cycle({2, 1, 16}, -1, 0.2F, 5, 11),
               Cycle({2, 1, 8}, -1, 0.25F, 3, 9),
               Cycle({2, 1, 8}, 0, 0.5F, 5, 8),
               Cycle({2, 1, 3, 8}, -1, 0.125F, 7, 17),
               Cycle({2, 1, 3, 8}, -2, 0.25F, 5, 19),
               Int32({2}, {1, 3}),
               Int32({1}, {4}),
               {},
               {},
               {},
               Cycle({1, 2, 1, 4}, -0.5F, 0.25F, 3, 5)},
              {IntAttribute("local_window_size", 3), FloatAttribute("softcap", 1.5F), FloatAttribute("scale", 0.5F)}));
  CheckNear(all[0], {2, 1, 16},
            {-0.85204351F, 1.1154293F,  0.78698909F, 2.7544618F,  0.40241843F, 0.073978245F, 2.041451F,   1.7130109F,
             -0.96708578F, 0.92848563F, 0.7582286F,  2.6538F,     0.18671423F, 0.016457126F, 1.9120287F,  1.7417715F,
             0.13857943F,  1.8882014F,  0.72252834F, 0.93721867F, 1.0880502F,  1.2388817F,   0.13706756F, 0.28789908F,
             0.17083134F,  1.9477317F,  0.41565317F, 1.0676727F,  1.1584918F,  1.249311F,    0.27843285F, 0.36925203F});
  CheckNear(all[2], {2, 1, 4, 8},
            {-2,    -0.75F, 0.5F,   1.75F, -1.75F, -0.5F, 0.75F, 2,      0, 2.5F,  1,    3.5F, 2,     0.5F, 3,  1.5F,
             0,     0,      0,      0,     0,      0,     0,     0,      0, 0,     0,    0,    0,     0,    0,  0,
             -0.5F, 0.75F,  2,      -1.5F, -0.25F, 1,     2.25F, -1.25F, 0, 1.25F, 2.5F, -1,   0.25F, 1.5F, -2, -0.75F,
             0.5F,  1.75F,  -1.75F, -0.5F, 0.75F,  2,     -1.5F, -0.25F, 0, 2.5F,  1,    3.5F, 2,     0.5F, 3,  1.5F});
}

// One prompt, and the same tokens one after the other, each from the cache that the one before has left.
TEST_CASE("Contrib, GroupQueryAttentionOfAPromptIsThatOfItsTokens", "[onnx]") {
  for (const int64_t batch : {int64_t{1}, int64_t{2}}) {
    CAPTURE(batch);
    constexpr int32_t kTokens = 4;
    const Tensor query = Cycle({batch, kTokens, 32}, -1, 0.1F, 7, 23),
                 key = Cycle({batch, kTokens, 16}, -1, 0.2F, 5, 11),
                 value = Cycle({batch, kTokens, 16}, -1, 0.25F, 3, 9);
    const std::vector<Wire> attributes = {IntAttribute("do_rotary", 1), IntAttribute("rotary_interleaved", 1)};
    const auto lasts = [&](int32_t last) {
      return Int32({batch}, std::vector<int32_t>(static_cast<size_t>(batch), last));
    };
    const auto whole = Results(
        Grouped({query, key, value, {}, {}, lasts(kTokens - 1), Int32({1}, {kTokens}), kCosines, kSines}, attributes));
    GivenInput keys, values;
    for (int32_t t = 0; t < kTokens; ++t) {
      CAPTURE(t);
      const auto step = Results(Grouped({Part(query, t, t + 1), Part(key, t, t + 1), Part(value, t, t + 1), keys,
                                         values, lasts(t), Int32({1}, {t + 1}), kCosines, kSines},
                                        attributes));
      CheckSame(step[0], Part(whole[0], t, t + 1));
      keys = step[1];
      values = step[2];
    }
    CheckSame(keys.tensor, whole[1]);
    CheckSame(values.tensor, whole[2]);
  }
}

TEST_CASE("Contrib, GroupQueryAttentionRefusesLengthsThatContradictEachOther", "[onnx]") {
  const int64_t batch = GENERATE(1, 2);
  const auto fault = [&](int32_t last, int32_t total) {
    CAPTURE(batch, last, total);
    const auto x = [&](std::vector<int64_t> dims) { return Cycle(std::move(dims), -1, 0.2F, 5, 11); };
    return RunFault(
               Grouped({x({batch, 1, 16}), x({batch, 1, 8}), x({batch, 1, 8}), x({batch, 1, 3, 8}), x({batch, 1, 3, 8}),
                        Int32({batch}, std::vector<int32_t>(static_cast<size_t>(batch), last)), Int32({1}, {total})}))
        .code;
  };
  CHECK(fault(4, 4) == ErrorCode::kInvalidInput);   // more tokens than there are in all
  CHECK(fault(4, 5) == ErrorCode::kInvalidInput);   // a longer past than is given
  CHECK(fault(-1, 4) == ErrorCode::kInvalidInput);  // no tokens
}

// Two heads of eight over one key head, two tokens.
Single OfTwoTokens(std::vector<Wire> attributes, GivenInput sink = {}, GivenInput weight = {}) {
  std::vector<GivenInput> inputs = {Cycle({1, 2, 16}, -1, 0.1F, 7, 23),
                                    Cycle({1, 2, 8}, -1, 0.2F, 5, 11),
                                    Cycle({1, 2, 8}, 0.5F, 0.3F, 3, 13),
                                    {},
                                    {},
                                    Int32({1}, {1}),
                                    Int32({1}, {2}),
                                    {},
                                    {},
                                    {},
                                    {},
                                    std::move(sink),
                                    {},
                                    {},
                                    weight,
                                    weight};
  return Grouped(std::move(inputs), std::move(attributes));
}

TEST_CASE("Contrib, GroupQueryAttentionTakesItsDefaultsWrittenOut", "[onnx]") {
  const Tensor plain = Results(OfTwoTokens({}))[0];
  const Tensor written = Results(OfTwoTokens(
      {IntAttribute("causal", 1), FloatAttribute("qk_norm_epsilon", 1e-6F), IntAttribute("sliding_window_cache", 0),
       IntAttribute("smooth_softmax", -1), IntAttribute("qk_output", 0), StringAttribute("k_quant_type", "NONE"),
       StringAttribute("v_quant_type", "NONE"), IntAttribute("local_window_size", -1)}))[0];
  CheckSame(written, plain);
}

TEST_CASE("Contrib, GroupQueryAttentionSeesLaterKeysWithoutCausal", "[onnx]") {
  CheckNear(Results(OfTwoTokens({IntAttribute("causal", 0)}))[0], {1, 2, 16},
            {1.2668014F, 1.2605817F,  2.1605818F, 3.0605817F, 3.960582F,  0.96058166F, 1.8605816F, 2.760582F,
             2.7960968F, 0.98252791F, 1.8825279F, 2.7825279F, 3.682528F,  0.6825279F,  1.5825279F, 2.482528F,
             2.0858624F, 1.1116614F,  2.0116615F, 2.9116616F, 3.8116617F, 0.81166142F, 1.7116615F, 2.6116614F,
             2.2780819F, 1.0767125F,  1.9767126F, 2.8767126F, 3.7767129F, 0.77671248F, 1.6767125F, 2.5767126F});
}

TEST_CASE("Contrib, GroupQueryAttentionHasASinkForEachHead", "[onnx]") {
  CheckNear(Results(OfTwoTokens({IntAttribute("smooth_softmax", 1)}))[0], {1, 2, 16},
            {0.32132661F, 0.89971459F, 1.4781026F,  2.0564904F, 2.6348784F, 0.70691854F, 1.2853065F,  1.8636944F,
             0.19102776F, 0.53487778F, 0.87872779F, 1.2225777F, 1.5664278F, 0.42026109F, 0.76411104F, 1.1079611F,
             1.2525483F,  0.66754627F, 1.2079911F,  1.748436F,  2.2888808F, 0.487398F,   1.0278429F,  1.5682877F,
             1.7027607F,  0.80479276F, 1.4775012F,  2.1502094F, 2.8229179F, 0.58055663F, 1.253265F,   1.9259734F});
  CheckNear(Results(OfTwoTokens({}, Floats({2}, {0.5F, -1})))[0], {1, 2, 16},
            {0.2608555F,  0.73039544F, 1.1999354F,  1.6694752F, 2.1390152F, 0.5738821F,  1.043422F,  1.512962F,
             0.31347653F, 0.87773436F, 1.4419922F,  2.0062499F, 2.5705078F, 0.68964839F, 1.2539061F, 1.818164F,
             0.99474305F, 0.53014874F, 0.95935673F, 1.3885647F, 1.8177726F, 0.38707945F, 0.8162874F, 1.2454953F,
             2.026227F,   0.95767587F, 1.7581758F,  2.5586758F, 3.3591759F, 0.69084251F, 1.4913425F, 2.2918427F});
}

// ONNX Runtime has this for GPUs alone: the same as of queries and keys that are normalised outside.
TEST_CASE("Contrib, GroupQueryAttentionNormalisesItsHeads", "[onnx]") {
  const Tensor weight = Cycle({8}, 0.5F, 0.25F, 3, 8);
  const auto normalised = [&](const Tensor& x, float epsilon) {
    std::vector<float> values;
    for (size_t head = 0; head < x.values<float>().size(); head += 8) {
      double squares = 0;
      for (size_t i = 0; i < 8; ++i) squares += std::pow(x.values<float>()[head + i], 2);
      for (size_t i = 0; i < 8; ++i) {
        values.push_back(static_cast<float>(x.values<float>()[head + i] * weight.values<float>()[i] /
                                            std::sqrt(squares / 8 + static_cast<double>(epsilon))));
      }
    }
    return Floats(x.dims(), values);
  };
  const auto expected = [&](float of_queries, float of_keys) {
    Single single = OfTwoTokens({});
    single.inputs[0] = normalised(single.inputs[0].tensor, of_queries);
    single.inputs[1] = normalised(single.inputs[1].tensor, of_keys);
    return Results(single);
  };
  const auto check = [&](std::vector<Wire> attributes, float of_queries, float of_keys) {
    const std::vector<Tensor> is = Results(OfTwoTokens(std::move(attributes), {}, weight));
    const std::vector<Tensor> should = expected(of_queries, of_keys);
    for (size_t i = 0; i < should.size(); ++i) CheckSame(is[i], should[i]);
  };
  check({}, 1e-6F, 1e-6F);
  check({FloatAttribute("qk_norm_epsilon", 0.25F)}, 0.25F, 0.25F);
  check({FloatAttribute("qk_norm_epsilon", 0.25F), FloatAttribute("k_norm_epsilon", 0.5F)}, 0.25F, 0.5F);
  check({FloatAttribute("q_norm_epsilon", 0.5F)}, 0.5F, 1e-6F);
}

TEST_CASE("Contrib, WhatGroupQueryAttentionDoesNotHaveIsRefused", "[onnx]") {
  const Tensor x = Cycle({1, 1, 16}, -1, 0.2F, 5, 11), k = Cycle({1, 1, 8}, -1, 0.2F, 5, 11);
  const std::vector<GivenInput> inputs = {x, k, k, {}, {}, Int32({1}, {0}), Int32({1}, {1})};
  const auto refused = [&](const Wire& attribute) { return FaultOf(Grouped(inputs, {attribute})); };
  CHECK(Mentions(refused(IntAttribute("sliding_window_cache", 1)), "sliding_window_cache"));
  CHECK(Mentions(refused(IntAttribute("causal", 2)), "causal is 2; it needs to be 0 or 1"));
  CHECK(Mentions(FaultOf(Grouped(inputs, {IntAttribute("causal", 0), IntAttribute("local_window_size", 2)})),
                 "local_window_size needs causal"));
  CHECK(Mentions(refused(IntAttribute("qk_output", 1)), "qk_output"));
  CHECK(Mentions(refused(IntAttribute("kv_cache_bit_width", 8)), "quantised keys and values"));
  CHECK(Mentions(refused(IntAttribute("local_window_size", 0)), "local_window_size is 0"));
  CHECK(Mentions(refused(IntAttribute("do_rotary", 1)), "do_rotary needs cos_cache"));
  std::vector<GivenInput> without = inputs;
  without[2] = {};
  CHECK(Mentions(FaultOf(Grouped(without)), "key and value come together"));
  std::vector<GivenInput> more = inputs;
  more.resize(17);
  more[16] = Int32({1}, {1});
  CHECK(Mentions(FaultOf(Grouped(more)), "query_seqlens"));
  more[16] = {};
  more[14] = Cycle({8}, 1, 0, 1, 1);
  CHECK(Mentions(FaultOf(Grouped(more)), "q_norm_weight and k_norm_weight come together"));
  std::vector<GivenInput> longer = inputs;
  longer[1] = longer[2] = Cycle({1, 2, 8}, -1, 0.2F, 5, 11);
  CHECK(Mentions(FaultOf(Grouped(longer)), "dim 1 of input 1 is 2 where input 0 has 1"));
}

}  // namespace
}  // namespace pt::testing::contrib_cache_test
