#include "partitiontuner/support/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "partitiontuner/support/output_file.h"
#include "test/testing/test_data.h"

namespace pt::file_test {
namespace {

TEST_CASE("File, WriteAndReadAreInverses", "[support]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.bin";
  const std::string content("a\0b\n", 4);
  REQUIRE(WriteFileAtomically(path, content).ok());
  CHECK(ReadFile(path, 4).value() == content);
  CHECK(ReadFile(path, 0).value() == content);
  REQUIRE(WriteFileAtomically(path, "new").ok());
  CHECK(ReadFile(path, 0).value() == "new");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("InputFile, ReadsAtAnyPlaceAndRefusesPastTheEnd", "[support]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.bin";
  REQUIRE(WriteFileAtomically(path, "0123456789").ok());
  const auto file = InputFile::Open(path);
  REQUIRE(file.ok());
  CHECK(file->size() == 10);
  const auto read = [&](uint64_t offset, size_t count) {
    std::string to(count, ' ');
    const Status status = file->ReadAt(offset, std::as_writable_bytes(std::span(to)));
    return status.ok() ? to : status.error().id;
  };
  CHECK(read(0, 10) == "0123456789");
  CHECK(read(3, 4) == "3456");
  CHECK(read(10, 0).empty());
  CHECK(read(9, 2) == "file.read");
  CHECK(read(11, 1) == "file.read");
  std::filesystem::resize_file(path, 5);  // by somebody else, meanwhile
  CHECK(read(3, 4) == "file.read");
  CHECK_FALSE(InputFile::Open(folder.path()).ok());
  CHECK_FALSE(InputFile::Open(path + "x").ok());
}

TEST_CASE("File, OverTheLimitIsRefused", "[support]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.bin";
  REQUIRE(WriteFileAtomically(path, "12345").ok());
  const auto read = ReadFile(path, 4);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().file == path);
  CHECK(read.error().message.find("5 bytes") != std::string::npos);
}

TEST_CASE("File, OnlyRegularFilesAreReadOrReplaced", "[support]") {
  const testing::TemporaryFolder folder;
  const std::string fifo = folder.path() + "/fifo", link = folder.path() + "/link", target = folder.path() + "/target";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  REQUIRE(WriteFileAtomically(target, "old").ok());
  REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
  CHECK_FALSE(ReadFile(fifo, 0).ok());  // and does not hang
  CHECK_FALSE(ReadFile(folder.path(), 0).ok());
  CHECK_FALSE(ReadFile(folder.path() + "/none", 0).ok());
  CHECK_FALSE(WriteFileAtomically(fifo, "x").ok());
  CHECK_FALSE(WriteFileAtomically(folder.path(), "x").ok());
  CHECK_FALSE(WriteFileAtomically(link, "x").ok());
  CHECK_FALSE(WriteFileAtomically(folder.path() + "/none/a", "x").ok());
  CHECK(ReadFile(target, 0).value() == "old");
}

TEST_CASE("File, FullDiskKeepsTheOldContent", "[support]") {
  if (!std::filesystem::exists("/dev/full")) SKIP("no /dev/full on this system");
  CHECK_FALSE(WriteFileAtomically("/dev/full", "x").ok());
}

TEST_CASE("OutputFile, HasItsNameOnceItIsCommitted", "[support]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
  };
  const std::string text = "new content";
  REQUIRE(WriteFileAtomically(path, "old").ok());
  {
    auto dropped = OutputFile::Create(path);
    REQUIRE(dropped.ok());
    CHECK(dropped->replaces());
    CHECK(dropped->Write(std::as_bytes(std::span(text))).ok());
    CHECK(dropped->Finish().ok());
    CHECK(files() == 2);
  }
  CHECK(files() == 1);
  CHECK(ReadFile(path, 0).value() == "old");
  auto written = OutputFile::Create(path);
  REQUIRE(written.ok());
  OutputFile moved = std::move(*written);
  for (const char& letter : text) CHECK(moved.Write(std::as_bytes(std::span(&letter, 1))).ok());
  CHECK(ReadFile(path, 0).value() == "old");
  CHECK(moved.Commit().ok());
  CHECK(ReadFile(path, 0).value() == text);
  CHECK(files() == 1);
}

}  // namespace
}  // namespace pt::file_test
