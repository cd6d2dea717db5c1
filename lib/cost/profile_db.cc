// One SQLite file: one row per measurement key, each with a checksum of its content, because SQLite does not
// notice a flipped bit inside a row.
#include <sqlite3.h>

#include <array>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "lib/cost/network_file_system.h"
#include "partitiontuner/cost/profile.h"

namespace pt {
namespace {

constexpr int kApplicationId = 0x50547066;  // "PTpf"
constexpr int kSchemaVersion = 4, kSchemaOfFirstMethod = 1, kSchemaWithoutReference = 2, kSchemaWithoutDevices = 3;
constexpr int kBusyTimeoutMs = 20'000;

constexpr const char* kAddReference = "ALTER TABLE measurement ADD COLUMN reference_ns INTEGER NOT NULL DEFAULT 0";
constexpr const char* kAddDevices =
    "ALTER TABLE measurement ADD COLUMN launch_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE measurement ADD COLUMN demand REAL NOT NULL DEFAULT 0";
constexpr const char* kCreate =
    "CREATE TABLE measurement("
    "  hash BLOB PRIMARY KEY CHECK (length(hash) = 16),"
    "  key TEXT NOT NULL,"
    "  median_ns INTEGER NOT NULL, spread_ns INTEGER NOT NULL, samples INTEGER NOT NULL,"
    "  provenance TEXT NOT NULL, failure TEXT NOT NULL,"
    "  family TEXT NOT NULL, device TEXT NOT NULL, unit_class TEXT NOT NULL, library TEXT NOT NULL,"
    "  math TEXT NOT NULL,"
    "  flops REAL NOT NULL, bytes REAL NOT NULL,"
    "  checksum BLOB NOT NULL,"
    "  reference_ns INTEGER NOT NULL DEFAULT 0,"
    "  launch_ns INTEGER NOT NULL DEFAULT 0,"
    "  demand REAL NOT NULL DEFAULT 0"
    ") WITHOUT ROWID";
#define PT_COLUMNS                                                                                                    \
  "hash, key, median_ns, spread_ns, samples, provenance, failure, family, device, unit_class, library, math, flops, " \
  "bytes, checksum, reference_ns, launch_ns, demand"
#define PT_VALUES "?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18"
constexpr const char* kSelect = "SELECT " PT_COLUMNS " FROM measurement WHERE hash = ?1";
constexpr const char* kSelectAll = "SELECT " PT_COLUMNS " FROM measurement ORDER BY hash";
constexpr const char* kPut = "INSERT OR REPLACE INTO measurement(" PT_COLUMNS ") VALUES(" PT_VALUES ")";
constexpr const char* kPutIfBetter =
    "INSERT INTO measurement(" PT_COLUMNS ") VALUES(" PT_VALUES
    ")"
    " ON CONFLICT(hash) DO UPDATE SET key=excluded.key, median_ns=excluded.median_ns,"
    " spread_ns=excluded.spread_ns, samples=excluded.samples,"
    " provenance=excluded.provenance, failure=excluded.failure, family=excluded.family,"
    " device=excluded.device, unit_class=excluded.unit_class, library=excluded.library, math=excluded.math,"
    " flops=excluded.flops, bytes=excluded.bytes, checksum=excluded.checksum,"
    " reference_ns=excluded.reference_ns, launch_ns=excluded.launch_ns, demand=excluded.demand"
    " WHERE excluded.samples >= measurement.samples";
#undef PT_COLUMNS
#undef PT_VALUES

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

std::array<unsigned char, 16> HashToBytes(Hash128 hash) {
  std::array<unsigned char, 16> bytes{};
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(hash.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<unsigned char>(hash.low >> (56 - 8 * i));
  }
  return bytes;
}

// Over the row as it is stored, so that any changed bit shows.
Hash128 ChecksumOf(const Measurement& m) {
  std::string text;
  const auto add_bits = [&text](auto value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    text.append(bytes, sizeof(value));
  };
  const auto add_text = [&](std::string_view part) {
    add_bits(part.size());
    text.append(part);
  };
  add_text(m.key_text);
  add_bits(m.median_ns);
  add_bits(m.spread_ns);
  add_bits(m.samples);
  add_text(ProvenanceName(m.provenance));
  add_text(m.failure);
  add_text(m.family);
  add_text(m.device);
  add_text(m.unit_class);
  add_text(m.library);
  add_text(m.math);
  add_bits(m.flops);
  add_bits(m.bytes);
  // Rows of earlier schemas have none of these. The words keep one from standing for another.
  if (m.reference_ns != 0) add_bits(m.reference_ns);
  if (m.launch_ns != 0) add_text("launch"), add_bits(m.launch_ns);
  if (m.demand != 0) add_text("demand"), add_bits(m.demand);
  return HashText(text);
}

// As the path of a file's URI.
std::string EscapedForUri(std::string_view path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string escaped;
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      escaped += c;
      continue;
    }
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return escaped;
}

void BindText(sqlite3_stmt* statement, int column, std::string_view text) {
  sqlite3_bind_text64(statement, column, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

std::string ColumnText(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  const int bytes = sqlite3_column_bytes(statement, column);
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(bytes));
}

}  // namespace

struct ProfileDb::Connection {
  std::string path;
  Database database;
  Statement select, put, put_if_better;
  bool read_only = false;
  mutable int last_fault = SQLITE_OK;

  Error Fault(int code, const std::string& doing) const {
    last_fault = code;
    std::string id = "profile_db.io";
    std::string hint;
    if (code == SQLITE_NOTADB) {
      id = "profile_db.not_ours";
      hint = "name another file with --db";
    } else if (code == SQLITE_CORRUPT) {
      id = "profile_db.corrupt";
      hint = "move the file away and profile again";
    } else if (code == SQLITE_BUSY) {
      hint = "another process holds it for long; try again";
    }
    std::string reason = database ? sqlite3_errmsg(database.get()) : sqlite3_errstr(code);
    Error error = MakeError(ErrorCode::kInvalidInput, std::move(id),
                            "profile database: cannot " + doing + ": " + reason, std::move(hint));
    error.file = path;
    return error;
  }

  Error Damaged(const std::string& what) const {
    Error error = MakeError(ErrorCode::kInvalidInput, "profile_db.corrupt", "profile database is damaged: " + what,
                            "move the file away and profile again");
    error.file = path;
    return error;
  }

  Status Execute(const char* sql, const std::string& doing) {
    const int code = sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return Fault(code & 0xff, doing);
    return {};
  }

  Result<Statement> Prepare(const char* sql, const std::string& doing) const {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(database.get(), sql, -1, &statement, nullptr);
    if (code != SQLITE_OK) return Fault(code & 0xff, doing);
    return Statement(statement);
  }

  Result<std::string> QueryText(const char* sql, const std::string& doing) const {
    PT_ASSIGN(Statement statement, Prepare(sql, doing));
    const int code = sqlite3_step(statement.get());
    if (code == SQLITE_ROW) return ColumnText(statement.get(), 0);
    if (code == SQLITE_DONE) return std::string();
    return Fault(code & 0xff, doing);
  }

  Result<int64_t> QueryNumber(const char* sql, const std::string& doing) const {
    PT_ASSIGN(Statement statement, Prepare(sql, doing));
    const int code = sqlite3_step(statement.get());
    if (code == SQLITE_ROW) return sqlite3_column_int64(statement.get(), 0);
    return Fault(code & 0xff, doing);
  }

  Status CheckWritable() const;
  Status OpenToWrite();
  Status OpenToRead();
  Status OpenFile(const std::string& name, int flags);
  Status PrepareStatements();
  Status Configure();
  Status CreateTable();
  Status CheckOurs(int64_t id) const;
  Error WrongVersion(int64_t version, const std::string& why) const;
  Status MarkVersion();
  Status CreateOrCheckSchema();
  Status Write(sqlite3_stmt* statement, Hash128 hash, const Measurement& measurement);
  Result<Measurement> ReadRow(sqlite3_stmt* row, Hash128* hash) const;
};

// Processes share the index of a write-ahead log as memory, which machines cannot: over a network, a rollback journal.
// With that one, only syncing in full keeps the file whole when the power fails.
Status ProfileDb::Connection::Configure() {
  sqlite3_extended_result_codes(database.get(), 0);
  const bool on_network = IsOnNetwork(path);
  // Switching a file's journal needs it alone, and SQLite does not call the busy handler for that: another process
  // opening at the same moment is waited for here.
  const char* const journal = on_network ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL";
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  for (;;) {
    const int code = sqlite3_exec(database.get(), journal, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) break;
    if ((code & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() > give_up) {
      return Fault(code & 0xff, "open it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  PT_CHECK_OK(Execute(on_network ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", "open it"));
  return Execute("PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF", "open it");
}

Status ProfileDb::Connection::CreateTable() {
  PT_CHECK_OK(Execute(kCreate, "create its table"));
  return MarkVersion();
}

Status ProfileDb::Connection::MarkVersion() {
  return Execute(("PRAGMA user_version=" + std::to_string(kSchemaVersion)).c_str(), "mark it");
}

Status ProfileDb::Connection::CheckOurs(int64_t id) const {
  if (id != kApplicationId) {
    Error error = MakeError(ErrorCode::kInvalidInput, "profile_db.not_ours", "this is a database of another program",
                            "name another file with --db");
    error.file = path;
    return error;
  }
  PT_ASSIGN(const std::string check, QueryText("PRAGMA quick_check(1)", "check it"));
  if (check != "ok") return Damaged(check);
  return {};
}

Error ProfileDb::Connection::WrongVersion(int64_t version, const std::string& why) const {
  Error error = MakeError(ErrorCode::kStale, "profile_db.version",
                          "profile database has schema version " + std::to_string(version) + ", this release uses " +
                              std::to_string(kSchemaVersion) + why,
                          "name another file with --db");
  error.file = path;
  return error;
}

Status ProfileDb::Connection::CreateOrCheckSchema() {
  // One transaction: of two processes that create the file, the second finds it made.
  PT_CHECK_OK(Execute("BEGIN IMMEDIATE", "lock it"));
  const auto within = [&]() -> Status {
    PT_ASSIGN(const int64_t id, QueryNumber("PRAGMA application_id", "read it"));
    PT_ASSIGN(const int64_t version, QueryNumber("PRAGMA user_version", "read it"));
    PT_ASSIGN(const int64_t tables, QueryNumber("SELECT count(*) FROM sqlite_master", "read it"));
    if (tables == 0 && id == 0) {
      PT_CHECK_OK(Execute(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str(), "mark it"));
      return CreateTable();
    }
    PT_CHECK_OK(CheckOurs(id));
    // The first schema held times of the first way of measuring, which no key asks for any more.
    if (version == kSchemaOfFirstMethod) {
      PT_CHECK_OK(Execute("DROP TABLE measurement", "bring it up to date"));
      return CreateTable();
    }
    if (version == kSchemaWithoutReference) PT_CHECK_OK(Execute(kAddReference, "bring it up to date"));
    if (version == kSchemaWithoutReference || version == kSchemaWithoutDevices) {
      PT_CHECK_OK(Execute(kAddDevices, "bring it up to date"));
      return MarkVersion();
    }
    if (version != kSchemaVersion) return WrongVersion(version, "");
    return {};
  };
  if (Status status = within(); !status.ok()) {
    Status rolled_back = Execute("ROLLBACK", "leave it");
    static_cast<void>(rolled_back);  // the first error says more
    return status;
  }
  return Execute("COMMIT", "create it");
}

Status ProfileDb::Connection::Write(sqlite3_stmt* statement, Hash128 hash, const Measurement& m) {
  const auto hash_bytes = HashToBytes(hash);
  const auto checksum = HashToBytes(ChecksumOf(m));
  sqlite3_bind_blob(statement, 1, hash_bytes.data(), 16, SQLITE_TRANSIENT);
  BindText(statement, 2, m.key_text);
  sqlite3_bind_int64(statement, 3, m.median_ns);
  sqlite3_bind_int64(statement, 4, m.spread_ns);
  sqlite3_bind_int64(statement, 5, m.samples);
  BindText(statement, 6, ProvenanceName(m.provenance));
  BindText(statement, 7, m.failure);
  BindText(statement, 8, m.family);
  BindText(statement, 9, m.device);
  BindText(statement, 10, m.unit_class);
  BindText(statement, 11, m.library);
  BindText(statement, 12, m.math);
  sqlite3_bind_double(statement, 13, m.flops);
  sqlite3_bind_double(statement, 14, m.bytes);
  sqlite3_bind_blob(statement, 15, checksum.data(), 16, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 16, m.reference_ns);
  sqlite3_bind_int64(statement, 17, m.launch_ns);
  sqlite3_bind_double(statement, 18, m.demand);
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (code != SQLITE_DONE) return Fault(code & 0xff, "write a measurement");
  return {};
}

Result<Measurement> ProfileDb::Connection::ReadRow(sqlite3_stmt* row, Hash128* hash) const {
  Measurement m;
  m.key_text = ColumnText(row, 1);
  m.median_ns = sqlite3_column_int64(row, 2);
  m.spread_ns = sqlite3_column_int64(row, 3);
  m.samples = static_cast<uint32_t>(sqlite3_column_int64(row, 4));
  const std::optional<Provenance> provenance = ProvenanceFromName(ColumnText(row, 5));
  m.failure = ColumnText(row, 6);
  m.family = ColumnText(row, 7);
  m.device = ColumnText(row, 8);
  m.unit_class = ColumnText(row, 9);
  m.library = ColumnText(row, 10);
  m.math = ColumnText(row, 11);
  m.flops = sqlite3_column_double(row, 12);
  m.bytes = sqlite3_column_double(row, 13);
  m.reference_ns = sqlite3_column_int64(row, 15);
  m.launch_ns = sqlite3_column_int64(row, 16);
  m.demand = sqlite3_column_double(row, 17);
  if (!provenance) return Damaged("a row has an unknown provenance");
  m.provenance = *provenance;
  *hash = HashText(m.key_text);
  const auto equals = [row](int column, Hash128 expected) {
    const auto bytes = HashToBytes(expected);
    return sqlite3_column_bytes(row, column) == 16 &&
           std::memcmp(sqlite3_column_blob(row, column), bytes.data(), 16) == 0;
  };
  if (!equals(0, *hash) || !equals(14, ChecksumOf(m))) {
    return Damaged("the checksum of a row does not match (key " + m.key_text.substr(0, 60) + "…)");
  }
  if (std::string fault = MeasurementFault(m); !fault.empty()) return Damaged(fault);
  return m;
}

Status ProfileDb::Connection::OpenFile(const std::string& name, int flags) {
  database.reset();
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database.reset(opened);
  if (code != SQLITE_OK) return Fault(code & 0xff, "open it");
  sqlite3_busy_timeout(opened, kBusyTimeoutMs);
  return {};
}

Status ProfileDb::Connection::CheckWritable() const {
  if (!read_only) return {};
  Error error =
      MakeError(ErrorCode::kInvalidInput, "profile_db.read_only",
                "the profile database can only be read: nothing can be stored in it", "name another file with --db");
  error.file = path;
  return error;
}

Status ProfileDb::Connection::OpenToWrite() {
  PT_CHECK_OK(OpenFile(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  PT_CHECK_OK(Configure());
  PT_CHECK_OK(CreateOrCheckSchema());
  // SQLite opens a file that is protected without a word, and lets transactions begin.
  read_only = sqlite3_db_readonly(database.get(), "main") == 1;
  return {};
}

// Readers of a database with a write-ahead log make files beside it. Where they cannot, it is read as one that no
// process writes, which holds as long as there is no log: what lies in one would be missing without a word.
Status ProfileDb::Connection::OpenToRead() {
  read_only = true;
  PT_CHECK_OK(OpenFile(path, SQLITE_OPEN_READONLY));
  if (!QueryNumber("SELECT count(*) FROM sqlite_master", "read it").ok()) {
    std::error_code absent;
    const uintmax_t log_bytes = std::filesystem::file_size(path + "-wal", absent);
    if (!absent && log_bytes > 0) {
      Error error = MakeError(ErrorCode::kInvalidInput, "profile_db.log",
                              "profile database: some of it lies in its log, which cannot be read where nothing can be "
                              "written",
                              "let pt-profile open it once where it can be written to, then copy it");
      error.file = path;
      return error;
    }
    PT_CHECK_OK(OpenFile("file:" + EscapedForUri(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  }
  PT_ASSIGN(const int64_t id, QueryNumber("PRAGMA application_id", "read it"));
  PT_ASSIGN(const int64_t version, QueryNumber("PRAGMA user_version", "read it"));
  PT_CHECK_OK(CheckOurs(id));
  if (version == kSchemaVersion) return {};
  return WrongVersion(version,
                      version < kSchemaVersion ? " and cannot bring it up to date where nothing can be written" : "");
}

Status ProfileDb::Connection::PrepareStatements() {
  PT_ASSIGN(select, Prepare(kSelect, "read it"));
  PT_ASSIGN(put, Prepare(kPut, "write it"));
  PT_ASSIGN(put_if_better, Prepare(kPutIfBetter, "write it"));
  return {};
}

Result<ProfileDb> ProfileDb::Open(const std::string& path) {
  namespace fs = std::filesystem;
  auto connection = std::make_unique<Connection>();
  connection->path = path;
  std::error_code error;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) {
    fs::create_directories(folder, error);
    if (error) {
      Error failed = MakeError(ErrorCode::kInvalidInput, "profile_db.io",
                               "profile database: cannot create its folder: " + error.message());
      failed.file = path;
      return failed;
    }
  }
  if (const fs::file_status status = fs::status(path, error); fs::exists(status) && !fs::is_regular_file(status)) {
    Error failed = MakeError(ErrorCode::kInvalidInput, "profile_db.io", "profile database: this is not a regular file");
    failed.file = path;
    return failed;
  }
  if (Status status = connection->OpenToWrite(); !status.ok()) {
    const int fault = connection->last_fault;
    const bool only_to_read = fault == SQLITE_READONLY || fault == SQLITE_CANTOPEN || fault == SQLITE_PERM;
    if (!only_to_read || !fs::exists(path, error)) return std::move(status).error();
    PT_CHECK_OK(connection->OpenToRead());
  }
  PT_CHECK_OK(connection->PrepareStatements());
  return ProfileDb(std::move(connection));
}

std::string ProfileDb::DefaultPath() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/partitiontuner/profile.db";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/partitiontuner/profile.db";
}

ProfileDb::ProfileDb(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
ProfileDb::ProfileDb(ProfileDb&&) noexcept = default;
ProfileDb& ProfileDb::operator=(ProfileDb&&) noexcept = default;
ProfileDb::~ProfileDb() = default;

Status ProfileDb::Put(const MeasurementKey& key, const Measurement& measurement) {
  assert(key.text == measurement.key_text);
  if (std::string fault = MeasurementFault(measurement); !fault.empty()) {
    return MakeError(ErrorCode::kInternal, "profile_db.value", "this is not a valid measurement: " + fault);
  }
  PT_CHECK_OK(connection_->CheckWritable());
  return connection_->Write(connection_->put.get(), key.hash, measurement);
}

Result<std::map<Hash128, Measurement>> ProfileDb::Get(const std::vector<MeasurementKey>& keys) const {
  std::map<Hash128, Measurement> found;
  // One read transaction: all rows as of one moment, and one lock instead of one a row.
  PT_CHECK_OK(connection_->Execute("BEGIN", "read it"));
  const auto within = [&]() -> Status {
    sqlite3_stmt* select = connection_->select.get();
    for (const MeasurementKey& key : keys) {
      const auto bytes = HashToBytes(key.hash);
      sqlite3_bind_blob(select, 1, bytes.data(), 16, SQLITE_TRANSIENT);
      const int code = sqlite3_step(select);
      Hash128 hash;
      Result<Measurement> row = code == SQLITE_ROW ? connection_->ReadRow(select, &hash) : Measurement{};
      sqlite3_reset(select);
      if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_->Fault(code & 0xff, "read a measurement");
      if (!row.ok()) return std::move(row).error();
      if (code == SQLITE_ROW) found.emplace(hash, std::move(row).value());
    }
    return {};
  };
  Status status = within();
  Status ended = connection_->Execute("COMMIT", "end reading");
  if (!status.ok()) return std::move(status).error();
  if (!ended.ok()) return std::move(ended).error();
  return found;
}

Result<std::map<Hash128, Measurement>> ProfileDb::All() const {
  PT_ASSIGN(Statement statement, connection_->Prepare(kSelectAll, "read it"));
  std::map<Hash128, Measurement> all;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    Hash128 hash;
    PT_ASSIGN(Measurement row, connection_->ReadRow(statement.get(), &hash));
    all.emplace_hint(all.end(), hash, std::move(row));
  }
  if (code != SQLITE_DONE) return connection_->Fault(code & 0xff, "read its measurements");
  return all;
}

Status ProfileDb::Import(const Profile& profile) {
  PT_CHECK_OK(connection_->CheckWritable());
  PT_CHECK_OK(connection_->Execute("BEGIN IMMEDIATE", "lock it"));
  const auto within = [&]() -> Status {
    for (const auto& [hash, measurement] : profile.measurements) {
      if (std::string fault = MeasurementFault(measurement); !fault.empty()) {
        return MakeError(ErrorCode::kInvalidInput, "profile.value", measurement.key_text + ": " + fault);
      }
      PT_CHECK_OK(connection_->Write(connection_->put_if_better.get(), hash, measurement));
    }
    return connection_->Execute("COMMIT", "write the profile");
  };
  Status status = within();
  if (!status.ok()) {
    Status rolled_back = connection_->Execute("ROLLBACK", "leave it");
    static_cast<void>(rolled_back);  // the first error says more
  }
  return status;
}

}  // namespace pt
