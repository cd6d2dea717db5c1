#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/support/file.h"
#include "test/cost/sample_problem.h"

namespace pt::profile_db_test {
namespace {

MeasurementKey KeyNumber(int i) { return SampleKey("run Relu | number " + std::to_string(i)); }

void PutNumbers(ProfileDb& db, int first, int last) {
  for (int i = first; i < last; ++i) {
    const MeasurementKey key = KeyNumber(i);
    REQUIRE(db.Put(key, SampleMeasurement(key.text, 1000 + i)).ok());
  }
}

TEST_CASE("ProfileDb, PutGetAndReplace", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("deep/er/profile.db");
  {
    ProfileDb db = ProfileDb::Open(path).value();
    PutNumbers(db, 0, 10);
    Measurement again = SampleMeasurement(KeyNumber(3).text, 77);
    REQUIRE(db.Put(KeyNumber(3), again).ok());
    // Committed: another connection sees it while this one is open.
    ProfileDb other = ProfileDb::Open(path).value();
    CHECK(other.All()->size() == 10);
  }
  const ProfileDb db = ProfileDb::Open(path).value();
  const auto found = db.Get({KeyNumber(3), KeyNumber(9), KeyNumber(10), KeyNumber(3)}).value();
  REQUIRE(found.size() == 2);
  CHECK(found.at(KeyNumber(3).hash).median_ns == 77);
  CHECK(found.at(KeyNumber(9).hash) == SampleMeasurement(KeyNumber(9).text, 1009));
}

TEST_CASE("ProfileDb, ManyProcessesCreateAndFillOneFile", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  constexpr int kProcesses = 4, kEach = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Result<ProfileDb> db = ProfileDb::Open(path);
      bool ok = db.ok();
      for (int i = 0; ok && i < kEach; ++i) {
        // Every second key is everybody's.
        const MeasurementKey key = KeyNumber(i % 2 == 0 ? i : 1000 * (p + 1) + i);
        ok = db->Put(key, SampleMeasurement(key.text, 1000 + i)).ok() && db->Get({key})->size() == 1;
      }
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(ProfileDb::Open(path)->All()->size() == kEach / 2 + kProcesses * kEach / 2);
}

TEST_CASE("ProfileDb, ManyThreadsWithAConnectionEach", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  std::vector<int> failures(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      Result<ProfileDb> db = ProfileDb::Open(path);
      if (!db.ok()) {
        failures[t] = 1;
        return;
      }
      for (int i = 0; i < 50; ++i) {
        const MeasurementKey key = KeyNumber(static_cast<int>(t) * 100 + i);
        if (!db->Put(key, SampleMeasurement(key.text, i)).ok()) ++failures[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(4, 0));
  CHECK(ProfileDb::Open(path)->All()->size() == 200);
}

TEST_CASE("ProfileDb, KilledWhileWritingKeepsWhatWasCommitted", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Result<ProfileDb> db = ProfileDb::Open(path);
    for (int i = 0; db.ok(); ++i) {
      const MeasurementKey key = KeyNumber(i);
      if (!db->Put(key, SampleMeasurement(key.text, 1000 + i)).ok()) _exit(1);
      if (i == 99 && write(ready[1], "x", 1) != 1) _exit(1);
    }
    _exit(1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  REQUIRE(kill(child, SIGKILL) == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  close(ready[0]);
  close(ready[1]);
  const auto all = ProfileDb::Open(path)->All();
  REQUIRE(all.ok());
  CHECK(all->size() >= 100);
  for (int i = 0; i < static_cast<int>(all->size()); ++i) CHECK(all->contains(KeyNumber(i).hash));
}

TEST_CASE("ProfileDb, ForeignFilesAreTypedErrors", "[cost]") {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& content) {
    const std::string path = folder.file("foreign.db");
    std::ofstream(path, std::ios::binary) << content;
    const Result<ProfileDb> db = ProfileDb::Open(path);
    REQUIRE_FALSE(db.ok());
    CHECK(db.error().code == ErrorCode::kInvalidInput);
    CHECK(db.error().file == path);
    CHECK_FALSE(db.error().hint.empty());
    std::filesystem::remove(path);
    return db.error().id;
  };
  CHECK(error_of(std::string(5000, 'x')) == "profile_db.not_ours");
  CHECK(error_of("{\"format\": \"partitiontuner-profile\"}" + std::string(600, ' ')) == "profile_db.not_ours");
  std::filesystem::create_directory(folder.file("folder"));
  CHECK(ProfileDb::Open(folder.file("folder")).error().id == "profile_db.io");
  std::ofstream(folder.file("file")) << "x";
  CHECK(ProfileDb::Open(folder.file("file/profile.db")).error().id == "profile_db.io");
}

// For as long as it lives the process is nobody, who may write nowhere; needs root, who may do everything otherwise.
class AsNobody {
 public:
  AsNobody() : changed_(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~AsNobody() {
    if (changed_ && ::seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;

 private:
  const bool changed_;
};

// A database of ten rows in a folder where nothing can be written.
class ReadOnlyFolder {
 public:
  ReadOnlyFolder() : place_(folder_.file("place")), path_(place_ + "/profile?100%#.db") {
    std::filesystem::create_directory(place_);
    ProfileDb db = ProfileDb::Open(path_).value();
    PutNumbers(db, 0, 10);
    std::filesystem::permissions(std::filesystem::path(place_).parent_path(), std::filesystem::perms(0755));
  }
  ~ReadOnlyFolder() { ::chmod(place_.c_str(), 0755); }
  void Close() const {
    REQUIRE(::chmod(path_.c_str(), 0444) == 0);
    REQUIRE(::chmod(place_.c_str(), 0555) == 0);
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  const std::string place_, path_;
};

TEST_CASE("ProfileDb, IsReadWhereNothingCanBeWritten", "[cost]") {
  const ReadOnlyFolder folder;
  folder.Close();
  const AsNobody nobody;
  Result<ProfileDb> db = ProfileDb::Open(folder.path());
  if (!db.ok()) FAIL(ToString(db.error()));
  CHECK(db->All()->size() == 10);
  CHECK(db->Get({KeyNumber(3)})->size() == 1);
  const Status put = db->Put(KeyNumber(3), SampleMeasurement(KeyNumber(3).text, 7));
  REQUIRE_FALSE(put.ok());
  CHECK(put.error().id == "profile_db.read_only");
  CHECK_FALSE(db->Import({}).ok());
}

TEST_CASE("ProfileDb, AFileThatCannotBeWrittenInAFolderThatCanIsRead", "[cost]") {
  const ReadOnlyFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0444) == 0);
  REQUIRE(::chmod(std::filesystem::path(folder.path()).parent_path().c_str(), 0777) == 0);
  const AsNobody nobody;
  Result<ProfileDb> db = ProfileDb::Open(folder.path());
  if (!db.ok()) FAIL(ToString(db.error()));
  CHECK(db->All()->size() == 10);
}

TEST_CASE("ProfileDb, ALogThatCannotBeBroughtInIsNotPassedOver", "[cost]") {
  const ReadOnlyFolder folder;
  {
    // What a process leaves that was killed: rows in the log, none of them in the file.
    ProfileDb db = ProfileDb::Open(folder.path()).value();
    PutNumbers(db, 10, 20);
    std::filesystem::copy_file(folder.path(), folder.path() + "-copy");
    std::filesystem::copy_file(folder.path() + "-wal", folder.path() + "-copy-wal");
  }
  std::filesystem::rename(folder.path() + "-copy", folder.path());
  std::filesystem::rename(folder.path() + "-copy-wal", folder.path() + "-wal");
  folder.Close();
  const AsNobody nobody;
  const Result<ProfileDb> db = ProfileDb::Open(folder.path());
  if (db.ok()) {
    CHECK(db->All()->size() == 20);
  } else {
    CHECK(db.error().id == "profile_db.log");
  }
}

// Whatever bits are lost, what is read is what was written, or a typed error: never something else.
// The number that SQLite keeps for the application: four bytes of the header, the highest first.
void WriteSchemaVersion(const std::string& path, char version) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  constexpr int kUserVersionOffset = 60;
  file.seekp(kUserVersionOffset);
  file.write(std::string{0, 0, 0, version}.data(), 4);
  REQUIRE(file.good());
}

TEST_CASE("ProfileDb, TimesOfTheFirstSchemaAreDroppedThoseOfALaterReleaseAreNotTouched", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  {
    ProfileDb db = ProfileDb::Open(path).value();
    PutNumbers(db, 0, 10);
  }
  WriteSchemaVersion(path, 99);
  const Result<ProfileDb> later = ProfileDb::Open(path);
  REQUIRE_FALSE(later.ok());
  CHECK(later.error().code == ErrorCode::kStale);
  CHECK(later.error().id == "profile_db.version");

  WriteSchemaVersion(path, 1);
  {
    ProfileDb db = ProfileDb::Open(path).value();
    CHECK(db.All()->empty());
    PutNumbers(db, 0, 3);
  }
  CHECK(ProfileDb::Open(path)->All()->size() == 3);
}

void Execute(const std::string& path, const char* statements) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, statements, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

// The schema without launches and demands, and the one without times of the reference work besides.
void BringBackToSchemaThree(const std::string& path) {
  Execute(path,
          "ALTER TABLE measurement DROP COLUMN launch_ns; ALTER TABLE measurement DROP COLUMN demand;"
          "PRAGMA user_version=3");
}
void BringBackToSchemaTwo(const std::string& path) {
  BringBackToSchemaThree(path);
  Execute(path, "ALTER TABLE measurement DROP COLUMN reference_ns; PRAGMA user_version=2");
}

TEST_CASE("ProfileDb, RowsOfTheSecondSchemaStayAndHaveNoReference", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  {
    ProfileDb db = ProfileDb::Open(path).value();
    PutNumbers(db, 0, 10);
  }
  const std::map<Hash128, Measurement> before = ProfileDb::Open(path)->All().value();
  BringBackToSchemaTwo(path);
  ProfileDb db = ProfileDb::Open(path).value();
  CHECK(db.All().value() == before);
  Measurement measured = SampleMeasurement(KeyNumber(3).text, 5000);
  measured.reference_ns = 70'000;
  REQUIRE(db.Put(KeyNumber(3), measured).ok());
  CHECK(ProfileDb::Open(path)->Get({KeyNumber(3)})->at(KeyNumber(3).hash) == measured);
}

TEST_CASE("ProfileDb, RowsOfTheThirdSchemaStayAndHaveNeitherLaunchNorDemand", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  Measurement referenced = SampleMeasurement(KeyNumber(11).text, 5000);
  referenced.reference_ns = 70'000;
  {
    ProfileDb db = ProfileDb::Open(path).value();
    PutNumbers(db, 0, 10);
    REQUIRE(db.Put(KeyNumber(11), referenced).ok());
  }
  const std::map<Hash128, Measurement> before = ProfileDb::Open(path)->All().value();
  BringBackToSchemaThree(path);
  ProfileDb db = ProfileDb::Open(path).value();
  CHECK(db.All().value() == before);
  Measurement measured = SampleMeasurement(KeyNumber(3).text, 5000);
  measured.launch_ns = 4'200;
  measured.demand = 0.3;
  REQUIRE(db.Put(KeyNumber(3), measured).ok());
  CHECK(ProfileDb::Open(path)->Get({KeyNumber(3)})->at(KeyNumber(3).hash) == measured);
  Profile better;
  measured.launch_ns = 3'900;
  measured.demand = 0.4;
  better.measurements[KeyNumber(3).hash] = measured;
  REQUIRE(db.Import(better).ok());
  CHECK(db.Get({KeyNumber(3)})->at(KeyNumber(3).hash) == measured);
}

TEST_CASE("ProfileDb, FlippedBitsNeverGiveAnotherTime", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  {
    ProfileDb db = ProfileDb::Open(path).value();
    PutNumbers(db, 0, 60);
  }
  const std::string intact = ReadFile(path, 0).value();
  std::map<Hash128, Measurement> expected = ProfileDb::Open(path)->All().value();
  const uint32_t seed = 20240607;
  CAPTURE(seed);
  std::mt19937 random(seed);
  size_t refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string damaged = intact;
    const size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    if (round % 4 == 0) damaged.resize(at);
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    CAPTURE(round, at);
    const Result<ProfileDb> db = ProfileDb::Open(path);
    if (!db.ok()) {
      ++refused;
      CHECK((db.error().code == ErrorCode::kInvalidInput || db.error().code == ErrorCode::kStale));
      continue;
    }
    const auto all = db->All();
    if (!all.ok()) {
      ++refused;
      CHECK(all.error().code == ErrorCode::kInvalidInput);
      continue;
    }
    for (const auto& [hash, m] : *all) CHECK(expected.at(hash) == m);
    CHECK((all->size() == expected.size() || damaged.empty()));
  }
  CHECK(refused > 50);
}

TEST_CASE("ProfileDb, ImportKeepsTheBetterOfTwoAndIsAllOrNothing", "[cost]") {
  const TemporaryFolder folder;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  PutNumbers(db, 0, 2);
  Profile profile;
  for (int i = 0; i < 3; ++i) {
    const MeasurementKey key = KeyNumber(i);
    Measurement m = SampleMeasurement(key.text, 5000 + i);
    m.samples = i == 0 ? 3 : 30;
    profile.measurements[key.hash] = m;
  }
  REQUIRE(db.Import(profile).ok());
  const auto all = db.All().value();
  CHECK(all.at(KeyNumber(0).hash).median_ns == 1000);
  CHECK(all.at(KeyNumber(1).hash).median_ns == 5001);
  CHECK(all.at(KeyNumber(2).hash).median_ns == 5002);

  profile.measurements[KeyNumber(4).hash] = SampleMeasurement(KeyNumber(4).text, 4);
  profile.measurements[KeyNumber(5).hash] = SampleMeasurement(KeyNumber(5).text, -4);
  CHECK(db.Import(profile).error().code == ErrorCode::kInvalidInput);
  CHECK(db.All().value() == all);
  CHECK(db.Put(KeyNumber(6), SampleMeasurement(KeyNumber(6).text, 6)).ok());  // usable afterwards
}

TEST_CASE("ProfileDb, AFullDiskIsATypedErrorAndKeepsTheOldRows", "[cost]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  ProfileDb db = ProfileDb::Open(path).value();
  PutNumbers(db, 0, 5);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // A limit on file sizes stands in for the end of the disk.
    const rlimit limit{128 << 10, 128 << 10};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    Result<ProfileDb> own = ProfileDb::Open(path);
    if (!own.ok()) _exit(own.error().code == ErrorCode::kInvalidInput ? 0 : 3);
    for (int i = 100; i < 5000; ++i) {
      const MeasurementKey key = KeyNumber(i);
      const Status status = own->Put(key, SampleMeasurement(key.text, i));
      if (!status.ok()) _exit(status.error().code == ErrorCode::kInvalidInput ? 0 : 3);
    }
    _exit(4);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const auto all = ProfileDb::Open(path)->All();
  REQUIRE(all.ok());
  CHECK(all->contains(KeyNumber(4).hash));
}

TEST_CASE("ProfileDb, DefaultPathFollowsTheEnvironment", "[cost]") {
  const char* before = getenv("XDG_CACHE_HOME");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  CHECK(ProfileDb::DefaultPath() == "/somewhere/partitiontuner/profile.db");
  setenv("XDG_CACHE_HOME", "not-absolute", 1);
  CHECK(ProfileDb::DefaultPath().find("/.cache/partitiontuner/profile.db") != std::string::npos);
  if (before != nullptr) {
    setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  } else {
    unsetenv("XDG_CACHE_HOME");
  }
}

}  // namespace
}  // namespace pt::profile_db_test
