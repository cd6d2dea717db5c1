// Profile: what was measured, as plain data, and its database. See docs/profile-format.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/cost/estimate.h"
#include "partitiontuner/support/json.h"

namespace pt {

// What is known of one key: its time, or why it cannot run.
struct Measurement {
  std::string key_text;  // MeasurementKey::text; its hash is HashText of it
  int64_t median_ns = 0;
  int64_t spread_ns = 0;  // half width of the 95 % confidence interval of the median
  uint32_t samples = 0;   // 0 with failure set: tried and not possible
  Provenance provenance = Provenance::kMeasured;
  std::string failure;     // why it cannot run; empty = it ran
  std::string family;      // operator of the heaviest node, or what CostKind::family says ("copy", "overhead", …)
  std::string device;      // fingerprint of the device it ran on (copies: of the sender)
  std::string unit_class;  // name; empty for copies
  std::string library;     // empty where none is concerned
  std::string math;        // MathModeName of the candidate; empty where nothing is computed
  double flops = 0, bytes = 0;
  int64_t reference_ns = 0;  // of the reference work at that time (exec/host_pace.h); 0 where it is not known
  int64_t launch_ns = 0;     // of the host, to enqueue it on an asynchronous device; 0 elsewhere and where not known
  double demand = 0;         // of "demand": the share of what its units share that it asks while it runs; else 0

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// Sane numbers: what a profile may hold, from a file or from a clock. Empty, or what is wrong.
std::string MeasurementFault(const Measurement& measurement);

struct Profile {
  std::string platform_fingerprint;
  std::map<std::string, std::string> environment;  // versions, governor, flags: for people and staleness checks
  std::map<Hash128, Measurement> measurements;     // by MeasurementKey::hash

  const Measurement* find(Hash128 key) const;  // null when absent
  friend bool operator==(const Profile&, const Profile&) = default;
};

// Inverses; docs/schema/profile.schema.json. The JSON carries a digest of its content: a file that was changed
// or damaged is refused (kInvalidInput, "profile.digest"), as are numbers that are not times. kStale on an
// unknown major version.
Json ToJson(const Profile& profile);
// The same as the text of a file, a measurement on each line: a tenth of the lines, and changes show row by row.
std::string ProfileText(const Profile& profile);
Result<Profile> ProfileFromJson(const Json& json, std::string_view what);

// The database: SQLite, one row per key. Several processes may use one file at once, on several machines where it lies
// on a network file system (by a rollback journal; elsewhere by a write-ahead log).
// A ProfileDb belongs to one thread at a time.
class ProfileDb {
 public:
  // Creates the file and its folder where absent. One that cannot be written to, or lies in a folder where nothing can,
  // is opened to be read alone: Put and Import then fail ("profile_db.read_only"). Errors: kInvalidInput
  // ("profile_db.corrupt": damaged; "profile_db.not_ours"; "profile_db.io": cannot be read; "profile_db.log": only to
  // be read, but some of it lies in a log that cannot be), kStale ("profile_db.version": of a later release, or of an
  // earlier one where nothing can be written).
  static Result<ProfileDb> Open(const std::string& path);
  static std::string DefaultPath();  // ${XDG_CACHE_HOME:-~/.cache}/partitiontuner/profile.db
  ProfileDb(ProfileDb&&) noexcept;
  ProfileDb& operator=(ProfileDb&&) noexcept;
  ~ProfileDb();

  // Committed when it returns. Replaces what the key had.
  Status Put(const MeasurementKey& key, const Measurement& measurement);
  // Those of the given keys that exist.
  Result<std::map<Hash128, Measurement>> Get(const std::vector<MeasurementKey>& keys) const;
  // Everything, of all machines; for export and family fits.
  Result<std::map<Hash128, Measurement>> All() const;
  // All or nothing; a measured row is never replaced by one with fewer samples.
  Status Import(const Profile& profile);

 private:
  struct Connection;
  explicit ProfileDb(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace pt
