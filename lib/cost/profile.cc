#include "partitiontuner/cost/profile.h"

#include <cmath>

namespace pt {
namespace {

constexpr std::string_view kFormat = "partitiontuner-profile";
constexpr std::string_view kFormatVersion = "2.2";
constexpr int64_t kMostNs = int64_t{100} * 24 * 3600 * 1'000'000'000;  // 100 days: no operator runs that long
constexpr double kMostWork = 1e21;

// Of everything but the digest itself, in one line: white space may change, nothing else.
std::string DigestOf(const Json& profile) {
  Json content = Json::MakeObject();
  for (const auto& [key, value] : *profile.as_object()) {
    if (key != "digest") content.Set(key, value);
  }
  return ToHex(HashText(WriteJson(content, -1)));
}

Json MeasurementToJson(const Measurement& m) {
  Json json = Json::MakeObject();
  json.Set("key", m.key_text);
  if (m.failure.empty()) {
    json.Set("median_ns", m.median_ns);
    json.Set("spread_ns", m.spread_ns);
  } else {
    json.Set("failure", m.failure);
  }
  json.Set("samples", m.samples);
  json.Set("provenance", ProvenanceName(m.provenance));
  json.Set("family", m.family);
  json.Set("device", m.device);
  json.Set("unit_class", m.unit_class);
  json.Set("library", m.library);
  json.Set("math", m.math);
  json.Set("flops", m.flops);
  json.Set("bytes", m.bytes);
  if (m.reference_ns > 0) json.Set("reference_ns", m.reference_ns);
  if (m.launch_ns > 0) json.Set("launch_ns", m.launch_ns);
  if (m.demand > 0) json.Set("demand", m.demand);
  return json;
}

Result<Measurement> MeasurementFromJson(const Json& json, const std::string& where) {
  Measurement m;
  PT_ASSIGN(m.key_text, JsonString(json, "key", where));
  if (json.find("failure") != nullptr) {
    PT_ASSIGN(m.failure, JsonString(json, "failure", where));
    if (m.failure.empty()) {
      return MakeError(ErrorCode::kInvalidInput, "profile.value", where + ".failure is empty");
    }
  } else {
    PT_ASSIGN(m.median_ns, JsonInt(json, "median_ns", where));
    PT_ASSIGN(m.spread_ns, JsonInt(json, "spread_ns", where));
  }
  PT_ASSIGN(const int64_t samples, JsonInt(json, "samples", where));
  if (samples < 0 || samples > UINT32_MAX) {
    return MakeError(ErrorCode::kInvalidInput, "profile.value",
                     where + ".samples must be at least 0, got " + std::to_string(samples));
  }
  m.samples = static_cast<uint32_t>(samples);
  PT_ASSIGN(const std::string provenance, JsonString(json, "provenance", where));
  const std::optional<Provenance> known = ProvenanceFromName(provenance);
  if (!known) {
    return MakeError(ErrorCode::kInvalidInput, "profile.value", where + ": unknown provenance \"" + provenance + "\"");
  }
  m.provenance = *known;
  PT_ASSIGN(m.family, JsonString(json, "family", where));
  PT_ASSIGN(m.device, JsonString(json, "device", where));
  PT_ASSIGN(m.unit_class, JsonString(json, "unit_class", where));
  PT_ASSIGN(m.library, JsonString(json, "library", where));
  PT_ASSIGN(m.math, JsonString(json, "math", where));
  PT_ASSIGN(m.flops, JsonNumber(json, "flops", where));
  PT_ASSIGN(m.bytes, JsonNumber(json, "bytes", where));
  if (json.find("reference_ns") != nullptr) {
    PT_ASSIGN(m.reference_ns, JsonInt(json, "reference_ns", where));
  }
  if (json.find("launch_ns") != nullptr) {
    PT_ASSIGN(m.launch_ns, JsonInt(json, "launch_ns", where));
  }
  if (json.find("demand") != nullptr) {
    PT_ASSIGN(m.demand, JsonNumber(json, "demand", where));
  }
  if (std::string fault = MeasurementFault(m); !fault.empty()) {
    return MakeError(ErrorCode::kInvalidInput, "profile.value", where + ": " + fault);
  }
  return m;
}

Error InFile(Error error, std::string_view what) {
  if (error.file.empty()) error.file = what;
  return error;
}

// Format, major version and digest; everything else is read only after this.
Status CheckEnvelope(const Json& json) {
  if (json.as_object() == nullptr) {
    return MakeError(ErrorCode::kInvalidInput, "profile.format", "no profile: the top level is not an object");
  }
  PT_ASSIGN(const std::string format, JsonString(json, "format", "profile"));
  if (format != kFormat) {
    return MakeError(ErrorCode::kInvalidInput, "profile.format",
                     "no profile: format is \"" + format + "\", not \"" + std::string(kFormat) + "\"");
  }
  PT_ASSIGN(const std::string version, JsonString(json, "version", "profile"));
  if (version.substr(0, version.find('.')) != kFormatVersion.substr(0, kFormatVersion.find('.'))) {
    return MakeError(ErrorCode::kStale, "profile.version",
                     "profile has format version " + version + ", this release reads " + std::string(kFormatVersion),
                     "export it again with the release that wrote it");
  }
  PT_ASSIGN(const std::string digest, JsonString(json, "digest", "profile"));
  if (const std::string expected = DigestOf(json); digest != expected) {
    return MakeError(ErrorCode::kInvalidInput, "profile.digest",
                     "the profile was changed or damaged: its content has digest " + expected + ", it says " + digest,
                     "export it again; who edits a profile on purpose writes the new digest into it");
  }
  return {};
}

}  // namespace

std::string MeasurementFault(const Measurement& m) {
  const auto time_fault = [](const char* name, int64_t ns) -> std::string {
    if (ns >= 0 && ns <= kMostNs) return {};
    return std::string(name) + " is out of range: " + std::to_string(ns);
  };
  const auto work_fault = [](const char* name, double n) -> std::string {
    if (n >= 0 && n <= kMostWork) return {};  // NaN fails too
    return std::string(name) + " is " + std::to_string(n) + ", no amount of work";
  };
  if (m.key_text.empty()) return "the key is empty";
  if (!m.failure.empty() && m.samples != 0) return "a failure with samples";
  if (m.failure.empty() && m.samples == 0 && m.provenance == Provenance::kMeasured) return "measured without samples";
  if (std::string fault = time_fault("median_ns", m.median_ns); !fault.empty()) return fault;
  if (std::string fault = time_fault("spread_ns", m.spread_ns); !fault.empty()) return fault;
  if (std::string fault = time_fault("reference_ns", m.reference_ns); !fault.empty()) return fault;
  if (std::string fault = time_fault("launch_ns", m.launch_ns); !fault.empty()) return fault;
  if (!(m.demand >= 0 && m.demand <= 1)) return "demand is " + std::to_string(m.demand) + ", no share";
  if (std::string fault = work_fault("flops", m.flops); !fault.empty()) return fault;
  return work_fault("bytes", m.bytes);
}

const Measurement* Profile::find(Hash128 key) const {
  const auto it = measurements.find(key);
  return it == measurements.end() ? nullptr : &it->second;
}

Json ToJson(const Profile& profile) {
  Json json = Json::MakeObject();
  json.Set("format", kFormat);
  json.Set("version", kFormatVersion);
  json.Set("platform_fingerprint", profile.platform_fingerprint);
  Json environment = Json::MakeObject();
  for (const auto& [name, value] : profile.environment) environment.Set(name, value);
  json.Set("environment", std::move(environment));
  Json measurements = Json::MakeArray();
  for (const auto& [hash, measurement] : profile.measurements) measurements.Push(MeasurementToJson(measurement));
  json.Set("measurements", std::move(measurements));
  json.Set("digest", DigestOf(json));
  return json;
}

std::string ProfileText(const Profile& profile) {
  std::string text = "{";
  const Json json = ToJson(profile);
  for (const auto& [key, value] : *json.as_object()) {
    text += (text.size() == 1 ? "\n  " : ",\n  ") + WriteJson(Json(key), -1) + ": ";
    if (key != "measurements") {
      text += WriteJson(value, -1);
      continue;
    }
    std::string separator = "\n    ";
    text += "[";
    for (const Json& row : *value.as_array()) {
      text += separator + WriteJson(row, -1);
      separator = ",\n    ";
    }
    text += "\n  ]";
  }
  return text + "\n}\n";
}

Result<Profile> ProfileFromJson(const Json& json, std::string_view what) {
  if (Status status = CheckEnvelope(json); !status.ok()) return InFile(std::move(status).error(), what);
  const auto read = [&]() -> Result<Profile> {
    Profile profile;
    PT_ASSIGN(profile.platform_fingerprint, JsonString(json, "platform_fingerprint", "profile"));
    PT_ASSIGN(const Json* environment, JsonObject(json, "environment", "profile"));
    for (const auto& [name, value] : *environment->as_object()) {
      PT_ASSIGN(profile.environment[name], JsonString(*environment, name, "environment"));
    }
    PT_ASSIGN(const Json::Array* rows, JsonArray(json, "measurements", "profile"));
    for (size_t i = 0; i < rows->size(); ++i) {
      const std::string where = "measurements[" + std::to_string(i) + "]";
      PT_ASSIGN(Measurement m, MeasurementFromJson((*rows)[i], where));
      const Hash128 hash = HashText(m.key_text);
      if (!profile.measurements.emplace(hash, std::move(m)).second) {
        return MakeError(ErrorCode::kInvalidInput, "profile.duplicate", where + " repeats the key of another");
      }
    }
    return profile;
  };
  Result<Profile> profile = read();
  if (!profile.ok()) return InFile(std::move(profile).error(), what);
  return profile;
}

}  // namespace pt
