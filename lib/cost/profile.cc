#include "partitiontuner/cost/profile.h"

#include "lib/cost/profile_fields.h"
#include "partitiontuner/cost/estimate_fields.h"

namespace pt {
namespace {

constexpr std::string_view kFormat = "partitiontuner-profile";
constexpr std::string_view kFormatVersion = "2.2";  // MAJOR.MINOR: the latest that a field says in Since
// 100 days: no operator runs that long.
constexpr FieldRange kTime = {0, 100.0 * 24 * 3600 * 1e9, "{key} is out of range: {value}"};
constexpr FieldRange kWork = {0, 1e21, "{key} is {value}, which is not an amount of work"};
constexpr FieldRange kShare = {0, 1, "{key} is {value}, which is not a share"};

// Of everything but the digest itself, in one line: white space may change, nothing else.
std::string DigestOf(const Json& profile) {
  Json content = Json::MakeObject();
  for (const auto& [key, value] : *profile.as_object()) {
    if (key != "digest") content.Set(key, value);
  }
  return ToHex(HashText(WriteJson(content, -1)));
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
  if (version != "2" && !version.starts_with("2.")) {
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

void Fields(FieldVisitor& v, Measurement& m) {
  v.Field("key", m.key_text,
          FieldNote("everything the time depends on, as one line of text").NotEmpty("the key is empty"));
  v.Field("failure", m.failure,
          FieldNote("instead of times: tried, and why it cannot run; planners never use it").Optional().NotEmpty());
  v.Unless("failure", !m.failure.empty(), [&] {
    v.Field("median_ns", m.median_ns, FieldNote("the time").Within(kTime));
    v.Field("spread_ns", m.spread_ns,
            FieldNote("half width of the 95 % confidence interval of the median (order statistics)").Within(kTime));
  });
  v.Field("samples", m.samples, "without outliers; 0 with a failure");
  ProvenanceField(v, m.provenance);
  v.Field("family", m.family,
          "operator of the heaviest node; `copy`, `reorder`, `overhead`, `wait`, `fetch`, `fetched inputs`, `beside`, "
          "`hog`, `demand`, `segment`, `stream wait`");
  v.Field("device", m.device, "fingerprint of the device it ran on; of copies: of the sender");
  v.Field("unit_class", m.unit_class, "its name; empty for copies");
  v.Field("library", m.library, "empty where none is concerned");
  v.Field("math", m.math, FieldNote("math mode of the candidate; empty where nothing is computed").Since("2.0"));
  v.Field("flops", m.flops, FieldNote("estimated for the work").Within(kWork));
  v.Field("bytes", m.bytes, FieldNote("read and written once each, constants included").Within(kWork));
  v.Field("reference_ns", m.reference_ns,
          FieldNote("what the reference work took on this host at that time; absent where it is not known")
              .Since("2.1")
              .Optional()
              .Within(kTime));
  v.Field("launch_ns", m.launch_ns,
          FieldNote("what enqueueing it took the host; on asynchronous devices alone")
              .Since("2.2")
              .Optional()
              .Within(kTime));
  v.Field("demand", m.demand,
          FieldNote("of the family `demand`: the share of its device that the work asks while it runs, above 0")
              .Since("2.2")
              .Optional()
              .Within(kShare));
  if (!v.reads()) return;
  if (const std::string fault = MeasurementFault(m); !fault.empty()) v.Fail(fault);
}

void Fields(FieldVisitor& v, Profile& profile) {
  std::string format(kFormat), version(kFormatVersion), digest;
  v.Field("format", format, FieldNote("says what the file is").OneOf({&kFormat, 1}));
  v.Field("version", version, FieldNote("`MAJOR.MINOR`; an unknown major is refused").Matching("^2\\.[0-9]+$"));
  v.Field("platform_fingerprint", profile.platform_fingerprint, "of the machine that was measured");
  v.Field("environment", profile.environment, "versions, governor and the like: for people, nothing decides by it");
  v.Rows(
      "measurements", profile.measurements, "what was measured, once each", "repeats the key of another",
      [&](Hash128& hash, Measurement& m) {
        Fields(v, m);
        hash = HashText(m.key_text);
      },
      "profile.duplicate");
  // Made of all that is written, and looked at before anything is read.
  if (v.describes()) {
    v.Field("digest", digest,
            FieldNote(
                "XXH3, 128 bits, of the whole object without this key, written in one line with the keys in file order")
                .Matching("^[0-9a-f]{32}$"));
  }
}

std::string MeasurementFault(const Measurement& m) {
  if (!m.failure.empty() && m.samples != 0) return "a failure with samples";
  if (m.failure.empty() && m.samples == 0 && m.provenance == Provenance::kMeasured) return "measured without samples";
  return FieldFault(m);
}

const Measurement* Profile::find(Hash128 key) const {
  const auto it = measurements.find(key);
  return it == measurements.end() ? nullptr : &it->second;
}

Json ToJson(const Profile& profile) {
  Json json = WriteFields(profile);
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
  Profile profile;
  const Status status = ReadFields(json, {"profile", "", "profile.value"}, profile);
  if (!status.ok()) return InFile(status.error(), what);
  return profile;
}

}  // namespace pt
