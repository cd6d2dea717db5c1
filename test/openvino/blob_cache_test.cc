// Compiled models in files: found again, bounded, never trusted.
#include "plugins/openvino/blob_cache.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "partitiontuner/support/file.h"
#include "test/openvino/runtime_for_tests.h"
#include "test/testing/check_case.h"
#include "test/testing/test_data.h"

namespace pt::openvino::blob_cache_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::vector<fs::path> FilesIn(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string Read(const fs::path& path) { return ReadFile(path.string(), 0).value(); }
void Write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

constexpr const char* kProduct =
    "input x float32[4,64]\nconst w float32[64,8] random 3\nm = MatMul(x, w)\ny = Relu(m)\noutput y\n";
const Target kTarget{"CPU", MathMode::kFp32, 0, 1};

}  // namespace

TEST_CASE("BlobCache, GivesBackWhatWasKeptUnderTheKey", "[openvino]") {
  const TemporaryFolder folder;
  const BlobCache cache({folder.path() + "/deep/er", 1 << 20});
  const std::string blob("a\0b\n\n", 5);
  CHECK_FALSE(cache.Find("key\n"));
  cache.Keep("key\n", blob);
  CHECK(cache.Find("key\n") == blob);
  CHECK_FALSE(cache.Find("key"));
  cache.Keep("key\n", "other");
  CHECK(cache.Find("key\n") == "other");
  CHECK(FilesIn(folder.path() + "/deep/er").size() == 1);  // nothing is left beside it
  cache.Remove("key\n");
  CHECK_FALSE(cache.Find("key\n"));
}

TEST_CASE("BlobCache, DamagedFilesAndThoseOfOtherKeysAreRemoved", "[openvino]") {
  const TemporaryFolder folder;
  const BlobCache cache({folder.path(), 1 << 20});
  cache.Keep("key", "some blob");
  const fs::path path = FilesIn(folder.path()).at(0);
  const std::string whole = Read(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    INFO("byte " << at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    Write(path, damaged);
    CHECK_FALSE(cache.Find("key"));
    CHECK_FALSE(fs::exists(path));
  }
  for (const size_t length : {size_t{0}, size_t{10}, whole.size() - 1}) {
    Write(path, whole.substr(0, length));
    CHECK_FALSE(cache.Find("key"));
  }
  Write(path, whole + "x");
  CHECK_FALSE(cache.Find("key"));
  // A file under the name of this key that holds another one's blob.
  cache.Keep("kez", "some blob");
  fs::rename(FilesIn(folder.path()).at(0), path);
  CHECK_FALSE(cache.Find("key"));
}

TEST_CASE("BlobCache, WhatWasNotUsedForLongestGoesFirst", "[openvino]") {
  const TemporaryFolder folder;
  const BlobCache cache({folder.path(), 4000});
  const std::string blob(1200, 'x');
  const auto age = [&](std::chrono::hours hours) {
    for (const fs::path& path : FilesIn(folder.path())) fs::last_write_time(path, fs::last_write_time(path) - hours);
  };
  for (const char* key : {"a", "b", "c"}) {
    cache.Keep(key, blob);
    age(std::chrono::hours(1));
  }
  CHECK(cache.Find("a") == blob);  // used just now
  cache.Keep("d", blob);
  CHECK(cache.Find("a") == blob);
  CHECK_FALSE(cache.Find("b"));
  CHECK(cache.Find("c") == blob);
  CHECK(cache.Find("d") == blob);
  cache.Keep("large", std::string(5000, 'x'));
  CHECK_FALSE(cache.Find("large"));
  CHECK(cache.Find("d") == blob);
}

TEST_CASE("BlobCache, TheEnvironmentSaysWhere", "[openvino]") {
  const auto options = [](const char* folder, const char* bytes) {
    setenv("PARTITIONTUNER_OPENVINO_CACHE", folder, 1);
    setenv("PARTITIONTUNER_OPENVINO_CACHE_BYTES", bytes, 1);
    auto read = BlobCache::Options::FromEnvironment();
    unsetenv("PARTITIONTUNER_OPENVINO_CACHE_BYTES");
    return read;
  };
  CHECK_FALSE(options("none", "").value().has_value());
  CHECK(options("/some/where", "77").value()->folder == "/some/where");
  CHECK(options("/some/where", "77").value()->bytes == 77);
  CHECK(options("/some/where", "7 GB").error().code == ErrorCode::kUsage);
  CHECK(options("", "").value()->folder.ends_with("/partitiontuner/openvino"));
}

// Part of every key, so that what one driver compiled is never another's.
TEST_CASE("DeviceFacts, AnotherDriverOrDeviceIsAnotherFingerprint", "[openvino]") {
  const auto fingerprint = [](const char* name, const char* driver) {
    DeviceFacts facts;
    facts.full_name = name;
    facts.driver = driver;
    return facts.Fingerprint();
  };
  const std::string here = fingerprint("an NPU", "1688");
  CHECK(here == fingerprint("an NPU", "1688"));
  CHECK(here != fingerprint("an NPU", "1689"));
  CHECK(here != fingerprint("another NPU", "1688"));
  CHECK(here.find(Runtime::Version()) != std::string::npos);
}

TEST_CASE("BlobCache, AModelIsImportedOnlyWhenItIsWhatWasAskedFor", "[openvino]") {
  const TemporaryFolder folder;
  const auto runtime = RuntimeForTests(folder.path());
  const Graph graph = testing::LoadCase({"", kProduct});
  const std::vector<float> x(256, 0.5F);
  const auto run = [&] {
    auto compiled = runtime->CompileCached(graph, kTarget);
    if (!compiled.ok()) FAIL(ToString(compiled.error()));
    ov::InferRequest request = compiled->create_infer_request();
    request.set_input_tensor(ov::Tensor(ov::element::f32, {4, 64}, const_cast<float*>(x.data())));
    request.infer();
    const ov::Tensor y = request.get_output_tensor();
    return std::vector<float>(y.data<float>(), y.data<float>() + y.get_size());
  };
  const std::vector<float> expected = run();
  REQUIRE(FilesIn(folder.path()).size() == 1);
  const fs::path path = FilesIn(folder.path()).at(0);
  const std::string whole = Read(path);

  SECTION("What was kept is used") {
    CHECK(run() == expected);
    CHECK(Read(path) == whole);
  }
  SECTION("A damaged file is compiled again and written anew") {
    for (const size_t at : {size_t{3}, whole.size() / 2, whole.size() - 1}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      Write(path, damaged);
      CHECK(run() == expected);
      CHECK(Read(path).size() == whole.size());
    }
  }
  SECTION("A file that says it is of another driver is compiled again") {
    // The key within the file, and so its whole text, would be that of another version.
    std::string other = whole;
    const size_t at = other.find(Runtime::Version());
    REQUIRE(at != std::string::npos);
    other[at] = other[at] == '9' ? '8' : '9';
    Write(path, other);
    CHECK(run() == expected);
    CHECK(Read(path).find(Runtime::Version()) != std::string::npos);
  }
  SECTION("A blob that is whole but that OpenVINO does not take is compiled again") {
    const size_t key_at = whole.find("model "), blob_at = whole.find("requests 1\n") + 11;
    const BlobCache cache({folder.path(), 1 << 30});
    cache.Keep(std::string_view(whole).substr(key_at, blob_at - key_at), "no blob at all");
    REQUIRE(Read(path).ends_with("no blob at all"));
    CHECK(run() == expected);
    CHECK(Read(path).size() == whole.size());
  }
  SECTION("Other weights are another model") {
    const Graph other = testing::LoadCase({"",
                                           "input x float32[4,64]\nconst w float32[64,8] random 4\n"
                                           "m = MatMul(x, w)\ny = Relu(m)\noutput y\n"});
    REQUIRE(runtime->CompileCached(other, kTarget).ok());
    CHECK(FilesIn(folder.path()).size() == 2);
  }
}

}  // namespace pt::openvino::blob_cache_test
