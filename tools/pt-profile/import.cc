#include "tools/pt-profile/import.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/support/file.h"

namespace pt::tools {
namespace {

struct ImportCounts {
  size_t added = 0, equal = 0, replaced = 0, kept = 0, differing = 0;
  std::set<std::string> devices;  // fingerprints
};

// Whether the two say different things: the intervals of their medians do not meet, or one of them could not run.
bool Differ(const Measurement& a, const Measurement& b) {
  if (a.failure.empty() != b.failure.empty()) return true;
  return a.failure.empty() && std::abs(a.median_ns - b.median_ns) > a.spread_ns + b.spread_ns;
}

Result<ImportCounts> Compare(const Profile& profile, const ProfileDb& db) {
  std::vector<MeasurementKey> keys;
  for (const auto& [hash, row] : profile.measurements) keys.push_back({row.key_text, hash});
  PT_ASSIGN(const auto known, db.Get(keys));
  ImportCounts counts;
  for (const auto& [hash, row] : profile.measurements) {
    if (!row.device.empty()) counts.devices.insert(row.device);
    const auto at = known.find(hash);
    if (at == known.end()) {
      ++counts.added;
      continue;
    }
    ++(at->second == row ? counts.equal : row.samples >= at->second.samples ? counts.replaced : counts.kept);
    counts.differing += Differ(row, at->second);
  }
  return counts;
}

// As every SQLite file begins.
bool IsDatabase(const std::string& file) {
  constexpr std::string_view kMagic = "SQLite format 3";
  char begin[kMagic.size()] = {};
  std::ifstream(file, std::ios::binary).read(begin, kMagic.size());
  return std::string_view(begin, kMagic.size()) == kMagic;
}

Result<Profile> ReadProfile(const std::string& file) {
  if (IsDatabase(file)) {
    PT_ASSIGN(const ProfileDb db, ProfileDb::Open(file));
    Profile profile;
    PT_ASSIGN(profile.measurements, db.All());
    return profile;
  }
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(file, limits.profile_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, file, limits));
  return ProfileFromJson(json, file);
}

Status ImportOne(const std::string& file, ProfileDb& db, const std::string& db_path, const Console& console) {
  PT_ASSIGN(const Profile profile, ReadProfile(file));
  PT_ASSIGN(const ImportCounts counts, Compare(profile, db));
  PT_CHECK_OK(db.Import(profile));
  console.Note(std::to_string(profile.measurements.size()) + " measurements of " + file + " are now in " + db_path +
               ": " + std::to_string(counts.added) + " new, " + std::to_string(counts.equal) + " known already, " +
               std::to_string(counts.replaced) + " in place of others, " + std::to_string(counts.kept) +
               " left out for others with more samples");
  for (const std::string& device : counts.devices) console.Detail(file + ": measured on " + device);
  if (counts.differing > 0) {
    console.Warn(std::to_string(counts.differing) + " measurements of " + file +
                 " differ by more than their noise from what the database had of the same work: that machine, or this "
                 "one, was in another state");
  }
  return {};
}

// The file, or those of the folder in the order of their names.
Result<std::vector<std::string>> FilesOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json" || at->path().extension() == ".db") files.push_back(at->path().string());
  }
  if (error || files.empty()) {
    Error none =
        MakeError(ErrorCode::kInvalidInput, "profile.folder",
                  error ? "cannot read the folder: " + error.message() : "the folder holds neither *.db nor *.json",
                  "name a folder of what pt-profile has written by --db or -o");
    none.file = path;
    return none;
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Status ImportProfiles(std::span<const std::string> paths, const std::string& db_path, const Console& console) {
  const std::string path = db_path.empty() ? ProfileDb::DefaultPath() : db_path;
  PT_ASSIGN(ProfileDb db, ProfileDb::Open(path));
  for (const std::string& given : paths) {
    PT_ASSIGN(const std::vector<std::string> files, FilesOf(given));
    for (const std::string& file : files) PT_CHECK_OK(ImportOne(file, db, path, console));
  }
  return {};
}

}  // namespace pt::tools
