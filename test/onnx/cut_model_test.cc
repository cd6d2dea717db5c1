// Models read from a file, their large weights left there until their tensors have memory: must be the Graph, or the
// refusal, that the same bytes give in memory.
#include "lib/onnx/cut_model.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/support/alignment.h"
#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::cut_model_test {
namespace {
using namespace testing;

constexpr int64_t kLarge = 16 << 10;  // bytes of raw data that are cut out

std::string RandomBytes(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(static_cast<size_t>(count), '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

GraphParts AddOf(const std::vector<Wire>& initializers) {
  GraphParts parts;
  parts.nodes = {NodeBytes("Identity", {"a"}, {"y"})};
  parts.outputs = {Wire().Bytes(1, "y")};
  parts.initializers = initializers;
  return parts;
}

struct InFile {
  TemporaryFolder folder;
  std::string path = folder.path() + "/model.onnx";
  explicit InFile(const std::string& bytes) { REQUIRE(WriteFileAtomically(path, bytes).ok()); }
  std::optional<CutModel> Cut() const { return CutModelFile(InputFile::Open(path).value()); }
};

// The graph with all that its constants hold, or the refusal.
std::string Told(const Result<Graph>& graph) {
  if (!graph.ok()) return graph.error().id + ": " + graph.error().message;
  return GraphText(*graph);
}

void CheckSameFromFile(const std::string& bytes, const LoadOptions& options = {}) {
  const InFile file(bytes);
  LoadReport from_file, from_memory;
  const Result<Graph> cut = LoadOnnx(file.path, options, &from_file);
  CHECK(Told(cut) == Told(Load(bytes, options, &from_memory, file.folder.path())));
  if (!cut.ok()) return;
  CHECK(from_file.file_bytes == bytes.size());
  CHECK(from_file.unknown_fields == from_memory.unknown_fields);
}

TEST_CASE("CutModel, LargeInitialisersStayInTheFileAndSmallOnesDoNot", "[onnx]") {
  const InFile file(ModelBytes(AddOf({RawTensor("a", 2, {kLarge}, RandomBytes(kLarge, 1)),
                                      RawTensor("b", 2, {kLarge - 1}, RandomBytes(kLarge - 1, 2)),
                                      RawTensor("c", 2, {3 * kLarge}, RandomBytes(3 * kLarge, 3))})));
  const auto cut = file.Cut();
  REQUIRE(cut);
  REQUIRE(cut->raw_data.size() == 3);
  REQUIRE((cut->raw_data[0] && !cut->raw_data[1] && cut->raw_data[2]));
  CHECK(cut->raw_data[2]->bytes == 3 * kLarge);
  const std::string whole = ReadFile(file.path, 0).value();
  CHECK(whole.substr(cut->raw_data[2]->offset, cut->raw_data[2]->bytes) == RandomBytes(3 * kLarge, 3));
  CHECK(cut->bytes.size() + 4 * kLarge < whole.size());
}

TEST_CASE("LoadOnnx, WeightsFromAFileEqualThoseFromMemoryAndAreAligned", "[onnx]") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<Wire> initializers;
    for (int i = 0; i < 8; ++i) {
      // Types of 1, 2, 4 and 8 bytes; bool (9) with bytes that are no bools; sizes around the cut and odd ones.
      const int type = std::array<int, 8>{1, 9, 10, 7, 2, 6, 11, 16}[random() % 8];
      const int64_t size = BytesOf(static_cast<DataType>(type));
      const int64_t count = std::array<int64_t, 7>{
          0, 1, kLarge / size - 1, kLarge / size, kLarge / size + 1, 3 * kLarge + 7, 300'001}[random() % 7];
      const std::string name = i == 0 ? "a" : "w" + std::to_string(i);
      initializers.push_back(
          RawTensor(name, type, {count}, RandomBytes(count * size, static_cast<unsigned>(random()))));
    }
    initializers.push_back(FloatTensor("typed", {2, 2}, {1, 2, 3, 4}));
    const std::string bytes = ModelBytes(AddOf(initializers));
    CheckSameFromFile(bytes);
    const InFile file(bytes);
    const auto graph = LoadOnnx(file.path);
    REQUIRE(graph.ok());
    for (const Value& value : graph->values()) {
      if (!value.is_constant() || value.constant->bytes().size() < kLarge) continue;
      CHECK(reinterpret_cast<uintptr_t>(value.constant->bytes().data()) % kTensorAlignment == 0);
    }
  }
}

TEST_CASE("LoadOnnx, DataThatDoesNotFitIsRefusedFromAFileAsFromMemory", "[onnx]") {
  const std::string data = RandomBytes(kLarge, 5);
  const auto check = [&](const Wire& tensor) { CheckSameFromFile(ModelBytes(AddOf({tensor}))); };
  check(RawTensor("a", 1, {kLarge}, data));                              // four times too little
  check(RawTensor("a", 2, {kLarge - 1}, data));                          // one too much
  check(RawTensor("a", 2, {-1, kLarge}, data));                          // negative
  check(RawTensor("a", 99, {kLarge}, data));                             // no such type
  check(RawTensor("a", 8, {1}, data));                                   // strings
  check(RawTensor("", 2, {kLarge}, data));                               // no name
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Bytes(9, data));         // twice: the last counts
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Bytes(9, "short"));      // twice
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Number(9, 5));           // of another wire type
  check(Wire(RawTensor("a", 1, {kLarge / 4}, data)).Float(4, 1));        // in two forms
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Number(14, 1));          // in another file as well
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Number(77, 1));          // a field of a newer format
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Tag(77, 3).Tag(77, 4));  // an unknown group
  check(Wire(RawTensor("a", 2, {kLarge}, data)).Raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));  // no field
  CheckSameFromFile(ModelBytes(AddOf({RawTensor("a", 2, {kLarge}, data), RawTensor("a", 2, {kLarge}, data)})));
  const std::string model = ModelBytes(AddOf({RawTensor("a", 2, {kLarge}, data)}));
  CheckSameFromFile(model + model);  // two graphs
  LoadOptions small;
  small.limits.file_bytes = 1000;
  const InFile file(model);
  const auto refused = LoadOnnx(file.path, small);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "file.size");
  LoadOptions tensor;
  tensor.limits.tensor_bytes = 1000;
  CheckSameFromFile(model, tensor);
}

TEST_CASE("LoadOnnx, CutShortOrDamagedFilesAreRefusedFromAFileAsFromMemory", "[onnx]") {
  const unsigned seed = 3;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string model =
      ModelBytes(AddOf({RawTensor("a", 1, {kLarge / 4}, RandomBytes(kLarge, 1)), FloatTensor("b", {1}, {1}),
                        RawTensor("c", 1, {kLarge / 2}, RandomBytes(2 * kLarge, 2))}));
  for (int i = 0; i < 60; ++i) CheckSameFromFile(model.substr(0, random() % model.size()));
  // Of the bytes that are no weights: the ends of the file and the seams between the tensors.
  for (int i = 0; i < 300; ++i) {
    std::string damaged = model;
    const size_t seam = std::array<size_t, 3>{0, kLarge, 3 * kLarge}[random() % 3];
    const size_t at = std::min(model.size() - 1, seam + random() % 120);
    damaged[at] = static_cast<char>(random());
    CheckSameFromFile(damaged);
  }
}

}  // namespace
}  // namespace pt::cut_model_test
