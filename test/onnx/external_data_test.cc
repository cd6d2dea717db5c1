#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::external_data_test {
namespace {
using namespace testing;
namespace fs = std::filesystem;

using Entries = std::vector<std::pair<std::string, std::string>>;

// A model folder with a data file of 64 bytes, and one file beside the folder.
class ModelFolder {
 public:
  ModelFolder() : root_(top_.path() + "/model") {
    fs::create_directories(root_ + "/sub");
    Write("model/data.bin", std::string(64, 'd'));
    Write("model/sub/data.bin", std::string(64, 's'));
    Write("secret.bin", std::string(64, 'x'));
  }
  const std::string& root() const { return root_; }
  const std::string& top() const { return top_.path(); }
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(top_.path() + "/" + name, std::ios::binary) << content;
  }

  Result<pt::Graph> Load(const Entries& entries, const LoadOptions& options = {}) const {
    GraphParts parts;
    parts.nodes = {NodeBytes("Identity", {"w"}, {"y"})};
    parts.initializers = {ExternalTensor("w", 1, {4}, entries)};
    parts.outputs = {ValueInfo("y", 1, {"4"})};
    Write("model/model.onnx", ModelBytes(parts));
    return LoadOnnx(root_ + "/model.onnx", options);
  }
  std::string Fault(const Entries& entries, const LoadOptions& options = {}) const {
    const auto graph = Load(entries, options);
    if (graph.ok()) return {};
    CHECK(graph.error().code == ErrorCode::kInvalidInput);
    CHECK(graph.error().file == root_ + "/model.onnx");
    return graph.error().message;
  }

 private:
  TemporaryFolder top_;
  std::string root_;
};

TEST_CASE("ExternalData, RangesOfFilesInTheFolderAreRead", "[onnx]") {
  const ModelFolder folder;
  const auto graph = folder.Load({{"location", "data.bin"}, {"offset", "48"}, {"length", "16"}, {"checksum", "none"}});
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  CHECK(graph->value(graph->find_value("w")).constant->bytes()[15] == std::byte{'d'});
  for (const std::string path : {"sub/data.bin", "./sub//data.bin"}) {
    const auto sub = folder.Load({{"location", path}, {"offset", "8"}});
    REQUIRE(sub.ok());
    CHECK(sub->value(sub->find_value("w")).constant->bytes()[0] == std::byte{'s'});
  }
}

TEST_CASE("ExternalData, PathsThatLeaveTheFolderAreRefusedAsText", "[onnx]") {
  const ModelFolder folder;
  CHECK(Mentions(folder.Fault({{"location", "../secret.bin"}}), "\"..\""));
  CHECK(Mentions(folder.Fault({{"location", "sub/../../secret.bin"}}), "\"..\""));
  CHECK(Mentions(folder.Fault({{"location", "sub/../data.bin"}}), "\"..\""));
  CHECK(Mentions(folder.Fault({{"location", folder.top() + "/secret.bin"}}), "absolute"));
  CHECK(Mentions(folder.Fault({{"location", "/dev/zero"}}), "absolute"));
  CHECK(Mentions(folder.Fault({{"location", "..\\secret.bin"}}), "backslash"));
  CHECK(Mentions(folder.Fault({{"location", "C:data.bin"}}), "drive"));
  CHECK(Mentions(folder.Fault({{"location", std::string("data.bin\0.txt", 13)}}), "NUL"));
  CHECK(Mentions(folder.Fault({{"location", std::string(5000, 'a')}}), "5000 characters"));
  CHECK(Mentions(folder.Fault({{"location", ""}}), "empty"));
  CHECK(Mentions(folder.Fault({{"location", "."}}), "folder"));
  CHECK(Mentions(folder.Fault({{"location", "sub/"}}), "folder"));
  CHECK(Mentions(folder.Fault({{"offset", "0"}}), "location"));
}

TEST_CASE("ExternalData, LinksAndSpecialFilesAreRefused", "[onnx]") {
  const ModelFolder folder;
  REQUIRE(::symlink("../secret.bin", (folder.root() + "/leaf").c_str()) == 0);
  REQUIRE(::symlink("..", (folder.root() + "/parent").c_str()) == 0);
  REQUIRE(::symlink("data.bin", (folder.root() + "/inside").c_str()) == 0);
  REQUIRE(::symlink("/proc/self", (folder.root() + "/proc").c_str()) == 0);
  REQUIRE(::link((folder.top() + "/secret.bin").c_str(), (folder.root() + "/hard").c_str()) == 0);
  REQUIRE(::mkfifo((folder.root() + "/fifo").c_str(), 0600) == 0);
  CHECK(Mentions(folder.Fault({{"location", "leaf"}}), "link"));
  CHECK_FALSE(folder.Fault({{"location", "parent/secret.bin"}}).empty());
  CHECK(Mentions(folder.Fault({{"location", "inside"}}), "link"));
  CHECK_FALSE(folder.Fault({{"location", "proc/environ"}}).empty());
  CHECK(Mentions(folder.Fault({{"location", "hard"}}), "hard links"));
  CHECK(Mentions(folder.Fault({{"location", "fifo"}}), "regular file"));  // and does not hang
  CHECK(Mentions(folder.Fault({{"location", "sub"}}), "regular file"));
  CHECK_FALSE(folder.Fault({{"location", "none.bin"}}).empty());
  LoadOptions options;
  options.allow_symlinks_beneath = true;
  CHECK(Mentions(folder.Fault({{"location", "leaf"}}, options), "link"));
  CHECK(folder.Fault({{"location", "inside"}, {"length", "16"}}, options).empty());
  options.allow_hard_links = true;
  CHECK(folder.Fault({{"location", "hard"}, {"length", "16"}}, options).empty());
}

// ROOT/snapshots/REVISION with links into ROOT/blobs, as the cache of the Hugging Face hub has it.
class HubCache {
 public:
  HubCache() {
    for (const char* folder : {"hub/blobs/deep", "hub/snapshots/abc/onnx", "hub/refs"}) {
      fs::create_directories(root() + "/" + folder);
    }
    for (const char* file : {"hub/blobs/hash", "hub/blobs/deep/hash", "hub/refs/main", "outside"}) {
      std::ofstream(root() + "/" + file, std::ios::binary) << std::string(64, 'b');
    }
  }
  std::string root() const { return top_.path(); }
  // Loads a model in that folder of the snapshot whose data is a link there to `target`.
  std::string Fault(const std::string& folder, const std::string& target) const {
    const std::string place = root() + "/hub/snapshots/abc/" + folder, link = place + "model.onnx_data";
    fs::remove(link);
    REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
    return LoadFault(Model("model.onnx_data"), {}, place);
  }
  static std::string Model(const std::string& location) {
    GraphParts parts;
    parts.nodes = {NodeBytes("Identity", {"w"}, {"y"})};
    parts.initializers = {ExternalTensor("w", 1, {4}, {{"location", location}})};
    parts.outputs = {ValueInfo("y", 1, {"4"})};
    return ModelBytes(parts);
  }

 private:
  TemporaryFolder top_;
};

TEST_CASE("ExternalData, LinksOfAHubCacheAreFollowedIntoItsBlobsAlone", "[onnx]") {
  const HubCache cache;
  CHECK(cache.Fault("", "../../blobs/hash").empty());
  CHECK(cache.Fault("onnx/", "../../../blobs/hash").empty());
  CHECK(cache.Fault("", cache.root() + "/hub/blobs/hash").empty());
  for (const char* elsewhere : {"../../blobs/deep/hash", "../../refs/main", "../../../outside", "/etc/passwd",
                                "../../blobs", "../../blobs/.."}) {
    CAPTURE(elsewhere);
    CHECK(Mentions(cache.Fault("", elsewhere), "link"));
  }
  CHECK(Mentions(cache.Fault("", "../../blobs/none"), "link"));
  // A blob that is a link itself, and blobs that lie elsewhere.
  REQUIRE(::symlink("../../outside", (cache.root() + "/hub/blobs/leads_out").c_str()) == 0);
  CHECK(Mentions(cache.Fault("", "../../blobs/leads_out"), "link"));
  fs::rename(cache.root() + "/hub/blobs", cache.root() + "/elsewhere");
  REQUIRE(::symlink("../elsewhere", (cache.root() + "/hub/blobs").c_str()) == 0);
  CHECK(Mentions(cache.Fault("", "../../blobs/hash"), "link"));
}

TEST_CASE("ExternalData, OnlyTheLinkItselfMayLeaveAHubCachesSnapshot", "[onnx]") {
  const HubCache cache;
  const std::string snapshot = cache.root() + "/hub/snapshots/abc";
  REQUIRE(::symlink("../../blobs", (snapshot + "/store").c_str()) == 0);
  CHECK(Mentions(LoadFault(HubCache::Model("store/hash"), {}, snapshot), "link"));
  // The same tree under other names is no such cache.
  fs::rename(cache.root() + "/hub/snapshots", cache.root() + "/hub/versions");
  const std::string other = cache.root() + "/hub/versions/abc";
  REQUIRE(::symlink("../../blobs/hash", (other + "/data").c_str()) == 0);
  const auto refused = Load(HubCache::Model("data"), {}, nullptr, other);
  REQUIRE_FALSE(refused.ok());
  CHECK(Mentions(refused.error().hint, "--allow-links"));
  CHECK(Mentions(refused.error().hint, "--external-data"));
}

TEST_CASE("ExternalData, AsMuchAsTheLimitsAllow", "[onnx]") {
  const ModelFolder folder;
  LoadOptions options;
  options.limits.file_bytes = 10'000;  // of the model's own file alone
  options.external_bytes = 16;
  CHECK(folder.Fault({{"location", "data.bin"}, {"length", "16"}}, options).empty());
  options.external_bytes = 15;
  const auto refused = folder.Load({{"location", "data.bin"}, {"length", "16"}}, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  CHECK(Mentions(refused.error().hint, "--external-limit"));
}

// A sparse file, which holds nothing and is read as zeros but for its last element.
TEST_CASE("ExternalData, OneTensorMayBeOfMoreThanTwoGibibytes", "[onnx][slow]") {
  const ModelFolder folder;
  constexpr int64_t kElements = int64_t{5} << 27;  // 2.5 GiB of float32
  const std::string path = folder.root() + "/large.bin";
  folder.Write("model/large.bin", "");
  fs::resize_file(path, static_cast<uintmax_t>(kElements) * 4);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((kElements - 1) * 4);
    const float last = 7;
    file.write(reinterpret_cast<const char*>(&last), sizeof last);
  }
  GraphParts parts;
  parts.nodes = {NodeBytes("Identity", {"w"}, {"y"})};
  parts.initializers = {ExternalTensor("w", 1, {kElements}, {{"location", "large.bin"}})};
  parts.outputs = {ValueInfo("y", 1, {std::to_string(kElements)})};
  const auto graph = Load(ModelBytes(parts), {}, nullptr, folder.root());
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  CHECK(graph->value(graph->find_value("w")).constant->values<float>().back() == 7);
}

TEST_CASE("ExternalData, RangesThatLieAreRefused", "[onnx]") {
  const ModelFolder folder;
  const auto fault = [&](const std::string& offset, const std::string& length) {
    return folder.Fault({{"location", "data.bin"}, {"offset", offset}, {"length", length}});
  };
  CHECK(fault("48", "16").empty());
  CHECK(Mentions(fault("49", "16"), "reach past"));
  CHECK(Mentions(fault("9223372036854775807", "16"), "reach past"));
  CHECK(Mentions(fault("-1", "16"), "offset \"-1\""));
  CHECK(Mentions(fault("18446744073709551615", "16"), "offset"));
  CHECK(Mentions(fault("0x10", "16"), "offset"));
  CHECK(Mentions(fault("", "16"), "offset"));
  CHECK(Mentions(fault("0", "12"), "length 12"));
  CHECK(Mentions(fault("0", "sixteen"), "length"));
  CHECK(Mentions(folder.Fault({{"location", "data.bin"}, {"location", "data.bin"}}), "twice"));
  CHECK(Mentions(folder.Fault({{"location", "data.bin"}, {"__class__", "x"}}), "unknown key"));
}

TEST_CASE("ExternalData, OverlappingRangesCannotMultiplyAFile", "[onnx]") {
  const ModelFolder folder;
  GraphParts parts;
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back("w" + std::to_string(i));
    parts.initializers.push_back(ExternalTensor(
        names.back(), 2, {60}, {{"location", "data.bin"}, {"offset", std::to_string(i % 4)}, {"length", "60"}}));
  }
  parts.nodes = {NodeBytes("Concat", names, {"y"}, {IntAttribute("axis", 0)})};
  parts.outputs = {ValueInfo("y", 2, {"6000"})};
  CHECK(Mentions(LoadFault(ModelBytes(parts), {}, folder.root()), "overlap"));
  for (int i = 0; i < 100; ++i) {
    parts.initializers[static_cast<size_t>(i)] = ExternalTensor(
        names[static_cast<size_t>(i)], 2, {60}, {{"location", "data.bin"}, {"offset", "4"}, {"length", "60"}});
  }
  const auto shared = Load(ModelBytes(parts), {}, nullptr, folder.root());
  REQUIRE(shared.ok());
  CHECK(shared->value(shared->find_value("w0")).constant->bytes().data() ==
        shared->value(shared->find_value("w99")).constant->bytes().data());
}

TEST_CASE("ExternalData, AModelInMemoryHasNoFolder", "[onnx]") {
  GraphParts parts;
  parts.nodes = {NodeBytes("Identity", {"w"}, {"y"})};
  parts.initializers = {ExternalTensor("w", 1, {4}, {{"location", "data.bin"}})};
  parts.outputs = {ValueInfo("y", 1, {"4"})};
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "no folder"));
}

}  // namespace
}  // namespace pt::external_data_test
