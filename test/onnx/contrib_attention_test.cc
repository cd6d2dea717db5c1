// Attention and MultiHeadAttention of ONNX Runtime. Expected numbers are its own, of version 1.32 without optimisation,
// with the same inputs; of masks that hide keys, also what the remaining keys alone give.
#include <algorithm>
#include <limits>

#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_attention_test {
namespace {

// Two entries of three tokens; two heads of two.
const Tensor kX = [] {
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>((i + 4) % 6) * 0.25F);
  return Floats({2, 3, 4}, values);
}();
const Tensor kWeights = Cycle({4, 12}, -1, 0.2F, 7, 11), kBias = Cycle({12}, -0.3F, 0.1F, 5, 7);

struct Options {
  GivenInput mask = {}, past = {}, bias = {};
  std::vector<Wire> attributes = {};
  bool present = false;
};

Single Self(const Options& options) {
  Single single = {"Attention",
                   {kX, Constant(kWeights), Constant(kBias), options.mask, options.past, options.bias},
                   {IntAttribute("num_heads", 2)}};
  for (const Wire& attribute : options.attributes) single.attributes.push_back(attribute);
  if (options.present) single.outputs.push_back("present");
  return single;
}

const std::vector<int64_t> kDims = {2, 3, 4};
// All tokens see all tokens; both entries are the same, but for where they begin.
const std::vector<float> kEntry = {-0.51357061F, 0.027135402F, -1.0686293F, 0.72817409F,   -0.49090523F, 0.039588101F,
                                   -1.0386826F,  0.74736285F,  -0.5582822F, -0.018581055F, -1.1165812F,  0.67897201F};
// What the first two tokens give to the three, and the last two.
const std::vector<float> kFirstTwo = {-0.51934332F, 0.14502306F, -1.3893298F,  0.59100538F,  -0.48685181F, 0.16865318F,
                                      -1.3792334F,  0.60614997F, -0.58707899F, 0.095760703F, -1.430934F,   0.5285992F};
const std::vector<float> kLastTwo = {-0.83083892F, -0.29726273F, -0.84575772F, 0.95F,        -0.80873859F, -0.29410553F,
                                     -0.83199042F, 0.95F,        -0.83083892F, -0.29726273F, -0.84363705F, 0.95F};
const std::vector<float> kFirst = {-0.1F, 0.45F, -1.75F, 0.05F};

std::vector<float> Join(std::initializer_list<std::vector<float>> parts) {
  std::vector<float> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_CASE("Contrib, AttentionProjectsAndSplitsHeads", "[onnx]") {
  CheckNear(Results(Self({}))[0], kDims, Join({kEntry, kEntry}));
  // The same with the sizes in words, and the keys and values besides.
  const auto all = Results(Self({.attributes = {IntsAttribute("qkv_hidden_sizes", {4, 4, 4})}, .present = true}));
  CheckNear(all[0], kDims, Join({kEntry, kEntry}));
  CHECK(all[1].dims() == std::vector<int64_t>{2, 2, 2, 3, 2});
  CHECK(all[1].values<float>()[0] == Catch::Approx(-0.25F));
  CHECK(all[1].values<float>()[24] == Catch::Approx(-0.1F));
}

TEST_CASE("Contrib, MasksOfAttentionHideKeys", "[onnx]") {
  const Tensor padding = Int32({2, 3}, {1, 1, 0, 0, 1, 1});
  CheckNear(Results(Self({padding}))[0], kDims, Join({kFirstTwo, kLastTwo}));
  CheckNear(
      Results(Self({padding, {}, {}, {FloatAttribute("mask_filter_value", -1)}}))[0], kDims,
      {-0.5167259F,  0.091571167F, -1.2337813F,  0.65753585F, -0.48870388F, 0.10968055F,  -1.2100253F,  0.67631382F,
       -0.57368547F, 0.042579807F, -1.281607F,   0.60003084F, -0.66998082F, -0.13278978F, -0.94287914F, 0.85333419F,
       -0.64555633F, -0.12278022F, -0.92064601F, 0.86308378F, -0.69964254F, -0.16311808F, -0.96765554F, 0.8268522F});
  CheckNear(Results(Self({Int32({2}, {3, 1})}))[0], kDims, Join({kEntry, kFirst, kFirst, kFirst}));
  CheckNear(Results(Self({Int32({4}, {3, 2, 1, 0})}))[0], kDims, Join({kLastTwo, kFirstTwo}));
  const Tensor by_query = Int32({2, 3, 3}, {1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const std::vector<float> second(kFirstTwo.begin() + 4, kFirstTwo.begin() + 8),
      third(kLastTwo.begin() + 8, kLastTwo.end());
  CheckNear(Results(Self({by_query}))[0], kDims, Join({kFirst, second, third, kEntry}));
  // One element an entry hides nothing, whatever it says.
  CheckNear(Results(Self({Int32({2, 1}, {0, 0})}))[0], kDims, Join({kEntry, kEntry}));
}

// Their scores are moved by the same number, and rounded as that is large.
TEST_CASE("Contrib, AMaskThatHidesAllKeysHidesNone", "[onnx]") {
  const Tensor all = Results(Self({Int32({2, 3}, {0, 0, 0, 0, 0, 0})}))[0];
  for (size_t i = 0; i < kEntry.size(); ++i) CHECK(all.values<float>()[i] == Catch::Approx(kEntry[i]).margin(2e-3));
}

TEST_CASE("Contrib, AttentionOfTokensToEarlierOnes", "[onnx]") {
  const std::vector<float> entry = {-0.1F,      0.45F,       -1.75F,       0.05F,          -0.4461076F, 0.1982854F,
                                    -1.360962F, 0.63355714F, -0.54702455F, -0.0098946169F, -1.1076638F, 0.6866082F};
  CheckNear(Results(Self({.attributes = {IntAttribute("unidirectional", 1), FloatAttribute("scale", 0.9F)}}))[0], kDims,
            Join({entry, entry}));
  // A query that may see nothing but hidden keys sees these.
  const Tensor by_query = Int32({2, 3, 3}, {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1});
  const std::vector<float> second(kFirstTwo.begin() + 4, kFirstTwo.begin() + 8),
      third(kLastTwo.begin() + 8, kLastTwo.end()), whole(kEntry.begin() + 8, kEntry.end());
  CheckNear(Results(Self({by_query, {}, {}, {IntAttribute("unidirectional", 1)}}))[0], kDims,
            Join({kFirst, second, third, kFirst, kFirst, whole}));
}

TEST_CASE("Contrib, AttentionGoesOnFromAPast", "[onnx]") {
  const Tensor past = Cycle({2, 2, 2, 1, 2}, -1, 0.125F, 1, 100);
  const auto all = Results(Self({{}, past, {}, {IntAttribute("unidirectional", 1)}, true}));
  CheckNear(all[0], kDims, {-0.045833323F, 0.27395836F, -0.82542866F, 0.20024286F,   -0.41419816F, 0.16213875F,
                            -0.77421951F,  0.52031273F, -0.47875574F, 0.0018718615F, -0.75176841F, 0.59782583F,
                            0.20384468F,   0.53862137F, -0.17146663F, 0.570916F,     -0.24764492F, 0.27926886F,
                            -0.43436396F,  0.72545493F, -0.34997478F, 0.1080985F,    -0.61180836F, 0.73198318F});
  CHECK(all[1].dims() == std::vector<int64_t>{2, 2, 2, 4, 2});
  const auto present = all[1].values<float>();
  CHECK(present[0] == -1);
  CHECK(present[2] == Catch::Approx(-0.25F));
  CHECK(present[32] == 0);
  CHECK(present[34] == Catch::Approx(-0.1F));
}

TEST_CASE("Contrib, BiasOfAttentionIsAddedToScores", "[onnx]") {
  const Tensor bias = Cycle({1, 2, 3, 3}, 0, 0.5F, 1, 5);
  const std::vector<float> entry = {-0.58007038F, -0.095943049F, -1.4032222F,  0.36930037F,  -0.61039019F, 0.048163306F,
                                    -0.87464339F, 0.84565055F,   -0.60955143F, -0.12946931F, -0.93130553F, 0.80230296F};
  CheckNear(Results(Self({{}, {}, bias}))[0], kDims, Join({entry, entry}));
}

// ---- MultiHeadAttention: three queries, two keys, values of other sizes ----

const Tensor kKey = [] {
  std::vector<float> values;
  for (int64_t entry : {0, 12}) {
    for (int64_t i = 0; i < 8; ++i) values.push_back(kX.values<float>()[static_cast<size_t>(entry + i)] * 0.5F + 0.1F);
  }
  return Floats({2, 2, 4}, values);
}();
const Tensor kValue = Floats({2, 2, 6}, {1, 1.25F, -1.25F, 0, 1, 1.25F, 0.5F, 0.75F, -0.75F, -1, 0.5F, 0.75F,
                                         1, 1.25F, -1.25F, 0, 1, 1.25F, 0.5F, 0.75F, -0.75F, -1, 0.5F, 0.75F});
const std::vector<int64_t> kWide = {2, 3, 6};
const std::vector<float> kHeads = {0.79907316F, 1.0490732F, -1.0490732F, -0.52208275F, 0.73895866F, 0.98895872F,
                                   0.77750957F, 1.0275095F, -1.0275095F, -0.68901002F, 0.65549499F, 0.90549493F,
                                   0.75552332F, 1.0055234F, -1.0055234F, -0.60872161F, 0.69563919F, 0.94563919F};
const std::vector<float> kFirstValue = {1, 1.25F, -1.25F, 0, 1, 1.25F};

Single Heads(std::vector<GivenInput> inputs, const std::vector<Wire>& attributes = {}) {
  Single single = {"MultiHeadAttention", std::move(inputs), {IntAttribute("num_heads", 2)}};
  for (const Wire& attribute : attributes) single.attributes.push_back(attribute);
  return single;
}

TEST_CASE("Contrib, MultiHeadAttentionWithMasksAndBias", "[onnx]") {
  CheckNear(Results(Heads({kX, kKey, kValue}))[0], kWide, Join({kHeads, kHeads}));
  CheckNear(Results(Heads({kX, kKey, kValue, {}, Int32({2}, {2, 1})}))[0], kWide,
            Join({kHeads, kFirstValue, kFirstValue, kFirstValue}));
  CheckNear(Results(Heads({kX, kKey, kValue, {}, Int32({2, 2}, {1, 0, 1, 1})}))[0], kWide,
            Join({kFirstValue, kFirstValue, kFirstValue, kHeads}));
  const std::vector<float> moved = {1.0796903F, 1.4296902F, -0.52969027F, 0.12208275F,   1.4610415F, 1.8110412F,
                                    1.0577315F, 1.4077314F, -0.5077315F,  -0.049927015F, 1.3750365F, 1.7250364F,
                                    1.0356526F, 1.3856527F, -0.48565269F, 0.034094486F,  1.4170473F, 1.7670472F};
  CheckNear(Results(Heads({kX, kKey, kValue, Constant(Cycle({14}, -0.5F, 0.1F, 1, 100))}))[0], kWide,
            Join({moved, moved}));
}

TEST_CASE("Contrib, MultiHeadAttentionOfQueriesToEarlierKeys", "[onnx]") {
  const std::vector<float> behind(kHeads.begin() + 6, kHeads.end());
  CheckNear(Results(Heads({kX, kKey, kValue}, {IntAttribute("unidirectional", 1)}))[0], kWide,
            Join({kFirstValue, behind, kFirstValue, behind}));
}

// Of more keys than queries the last query sees all, as in ONNX Runtime; the others see as many as they are.
TEST_CASE("Contrib, TheLastQueryOfFewSeesAllKeys", "[onnx]") {
  const Tensor one = Floats({1, 1, 1}, {0}), two = Floats({1, 2, 1}, {0, 0});
  const Tensor keys = Floats({1, 3, 1}, {0, 0, 0}), values = Floats({1, 3, 1}, {3, 9, 30});
  const auto run = [&](const Tensor& queries) {
    Single single = Heads({queries, keys, values});
    single.attributes = {IntAttribute("num_heads", 1), IntAttribute("unidirectional", 1)};
    return Results(single)[0];
  };
  CheckNear(run(one), {1, 1, 1}, {14});
  CheckNear(run(two), {1, 2, 1}, {3, 14});
}

TEST_CASE("Contrib, MultiHeadAttentionTakesKeysThatAreSplit", "[onnx]") {
  const Tensor keys = Cycle({2, 2, 3, 2}, -1, 0.1F, 1, 100), values = Cycle({2, 2, 3, 2}, 1, -0.1F, 1, 100);
  Single single = Heads({kX, keys, values});
  single.outputs = {"y", "k", "v"};
  const auto all = Results(single);
  CheckNear(all[0], kDims, {0.75827426F,  0.65827417F,  0.19528694F,  0.09528695F,  0.77655172F,  0.6765517F,
                            0.15827419F,  0.058274191F, 0.79528689F,  0.69528693F,  0.17655171F,  0.076551713F,
                            -0.44172585F, -0.54172581F, -1.0047131F,  -1.1047131F,  -0.42344829F, -0.52344829F,
                            -1.0417259F,  -1.1417258F,  -0.40471309F, -0.50471306F, -1.0234483F,  -1.1234483F});
  CHECK(std::ranges::equal(all[1].values<float>(), keys.values<float>()));
  CHECK(std::ranges::equal(all[2].values<float>(), values.values<float>()));
}

TEST_CASE("Contrib, MultiHeadAttentionGoesOnFromAPast", "[onnx]") {
  const Tensor past = Cycle({2, 2, 1, 2}, -0.5F, 0.2F, 1, 100), past_value = Cycle({2, 2, 1, 2}, 0.5F, -0.2F, 1, 100);
  Single single = Heads({kX, kKey, kKey, {}, {}, {}, past, past_value});
  single.outputs = {"y", "k", "v"};
  const auto all = Results(single);
  CheckNear(all[0], kDims, {0.49958292F,   0.59209734F,  0.27788502F,   0.29935423F,    0.49077082F,   0.55750561F,
                            0.37743783F,   0.43916777F,  0.48440894F,   0.512263F,      0.3269347F,    0.3692582F,
                            0.27250388F,   0.3052184F,   -0.010334183F, 0.00091242779F, 0.24660051F,   0.27182281F,
                            -0.085731402F, -0.11130025F, 0.221596F,     0.23955314F,    -0.047287963F, -0.055202745F});
  CHECK(all[1].dims() == std::vector<int64_t>{2, 2, 3, 2});
  CHECK(all[1].values<float>()[0] == -0.5F);
  CHECK(all[2].values<float>()[0] == 0.5F);
}

TEST_CASE("Contrib, WhatIsNotSupportedOfAttentionIsRefusedByName", "[onnx]") {
  const auto self = [](const std::vector<Wire>& attributes) { return FaultOf(Self({.attributes = attributes})); };
  CHECK(Mentions(self({IntAttribute("do_rotary", 1)}), "do_rotary is not supported"));
  CHECK(Mentions(self({IntAttribute("past_present_share_buffer", 1)}), "past_present_share_buffer is not supported"));
  CHECK(Mentions(self({IntsAttribute("qkv_hidden_sizes", {4, 4})}), "three positive multiples of num_heads"));
  CHECK(Mentions(self({IntsAttribute("qkv_hidden_sizes", {4, 4, 2})}), "do not sum up to the 12 columns"));
  CHECK(Mentions(self({IntsAttribute("qkv_hidden_sizes", {INT64_MAX - 1, INT64_MAX - 1, 16})}), "12 columns"));
  CHECK(Mentions(FaultOf(Self({Int32({8}, {1, 1, 1, 1, 1, 1, 1, 1})})), "8 elements for 2 entries"));
  CHECK(Mentions(FaultOf(Self({Int32({2, 1, 1, 3}, {1, 1, 1, 1, 1, 1})})), "a mask of 4 dims is not supported"));
  CHECK(Mentions(FaultOf(Self({GivenInput(Int32({2, 3}, {1, 1, 1, 1, 1, 1}), false, false)})),
                 "the number of dims of the mask (\"x3\") is not known"));
  CHECK(Mentions(FaultOf(Self({{}, {}, Floats({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0})})), "attention_bias has 2 dims"));
  Single heads = Self({});
  heads.attributes = {IntAttribute("num_heads", 3)};
  CHECK(Mentions(FaultOf(heads), "the 12 columns of weights are not three times 3 heads"));
  heads.attributes = {IntAttribute("num_heads", 0)};
  CHECK(Mentions(FaultOf(heads), "num_heads is 0"));
  heads.attributes = {};
  CHECK(Mentions(FaultOf(heads), "its attribute num_heads is missing"));

  CHECK(Mentions(FaultOf(Heads({kX})), "packed queries, keys and values are not supported"));
  CHECK(Mentions(FaultOf(Heads({kX, kKey, kValue, {}, Int32({8}, {1, 1, 1, 1, 1, 1, 1, 1})})), "one for each"));
  CHECK(Mentions(FaultOf(Heads({kX, kKey, kValue, {}, {}, {}, Floats({2, 2, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0})})),
                 "past_key and past_value come together"));
  CHECK(Mentions(FaultOf(Heads({kX, kKey, kValue, {}, {}, {}, {}, {}, Int32({}, {1})})),
                 "past_sequence_length is not supported"));
  const int64_t rows = kX.dims()[2] + kKey.dims()[2] + kValue.dims()[2];
  for (const int64_t more : {-1, 1}) {
    CHECK(Mentions(FaultOf(Heads({kX, kKey, kValue, Cycle({rows + more}, 0, 1, 1, 5)})),
                   "the bias has " + std::to_string(rows + more) + " elements"));
  }
  CHECK(FaultOf(Heads({kX, kKey, kValue, Cycle({rows}, 0, 1, 1, 5)})) == "");
  CHECK(Mentions(FaultOf(Heads({kX, kKey, kValue, {}, Int32({9, 1}, std::vector<int32_t>(9, 1))})),
                 "key_padding_mask has 9 rows for 2 entries"));
  Single qk = Heads({kX, kKey, kValue});
  qk.outputs = {"y", "", "", "qk"};
  CHECK(Mentions(FaultOf(qk), "its output qk is not supported"));
}

// Two heads of two, of integers: 11 i mod 251 and 29 i mod 255 - 127, with a zero point a column.
Single OfIntegers(GivenInput mask, std::vector<Wire> attributes, GivenInput past = {}) {
  std::vector<uint8_t> x;
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<uint8_t>(i * 11 % 251));
  std::vector<int8_t> w, zeros;
  for (int i = 0; i < 48; ++i) w.push_back(static_cast<int8_t>(i * 29 % 255 - 127));
  for (int i = 0; i < 12; ++i) zeros.push_back(static_cast<int8_t>(i * 5 % 9 - 4));
  attributes.push_back(IntAttribute("num_heads", 2));
  return {"QAttention",
          {Uint8({2, 3, 4}, x), Constant(Int8({4, 12}, w)), Cycle({12}, -0.5F, 0.125F, 5, 11), Floats({}, {0.02F}),
           Cycle({12}, 0.002F, 0.0005F, 3, 7), std::move(mask), Uint8({}, {120}), Int8({12}, zeros), std::move(past)},
          std::move(attributes)};
}

TEST_CASE("Contrib, QAttentionProjectsIntegers", "[onnx]") {
  CheckNear(
      Results(OfIntegers(Int32({2}, {2, 3}), {}))[0], {2, 3, 4},
      {0.37858844F, 1.0323178F,   0.63931918F, -0.8769502F,  0.38049856F, 1.0430378F,   0.64106464F, -0.87934077F,
       0.3824141F,  1.0537883F,   0.6428107F,  -0.88173211F, 0.72794414F, -0.66362941F, 0.22676593F, 0.065167315F,
       0.77118862F, -0.63113725F, 0.22632851F, 0.060224816F, 0.6637913F,  -0.71775645F, 0.14123847F, -0.07951425F});
}

TEST_CASE("Contrib, QAttentionGoesOnFromAPast", "[onnx]") {
  Single single = OfIntegers({}, {IntAttribute("unidirectional", 1)}, Cycle({2, 2, 2, 1, 2}, -1, 0.25F, 5, 11));
  single.outputs = {"y", "present"};
  const std::vector<Tensor> all = Results(single);
  CheckNear(all[0], {2, 3, 4}, {0.61816394F,  0.19973846F,  0.58652407F,  -1.0019203F,  0.53434998F,  0.29646051F,
                                0.57761168F,  -0.93361497F, 0.47161162F,  0.16647023F,  0.53445876F,  -0.84434086F,
                                0.14063807F,  0.20089862F,  0.076014757F, 0.63574648F,  0.063003495F, -0.43261763F,
                                0.053177435F, 0.51052433F,  0.58504188F,  -0.29569092F, 0.061770491F, 0.66853839F});
  CHECK(all[1].dims() == std::vector<int64_t>{2, 2, 2, 4, 2});
  CHECK(all[1].values<float>()[2] == Catch::Approx(0.46867001F));
  CHECK(all[1].values<float>()[63] == Catch::Approx(1.05547F));
}

TEST_CASE("Contrib, WhatQAttentionDoesNotHaveIsRefused", "[onnx]") {
  CHECK(Mentions(FaultOf(OfIntegers({}, {IntAttribute("do_rotary", 1)})), "do_rotary"));
  CHECK(Mentions(FaultOf(OfIntegers({}, {IntAttribute("past_present_share_buffer", 1)})), "past_present_share_buffer"));
  Single floats = OfIntegers({}, {});
  floats.inputs[0] = Cycle({2, 3, 4}, 0, 1, 1, 5);
  CHECK(Mentions(FaultOf(floats), "int8 and uint8 are supported"));
}

}  // namespace
}  // namespace pt::testing::contrib_attention_test
