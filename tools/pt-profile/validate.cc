#include "tools/pt-profile/validate.h"

#include "partitiontuner/cost/prediction_errors.h"
#include "tools/common/prepare.h"
#include "tools/common/text.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

Json ErrorsJson(const PredictionErrors& errors) {
  Json json = Json::MakeObject();
  json.Set("family", errors.family);
  json.Set("library", errors.library);
  json.Set("unit_class", errors.unit_class);
  json.Set("math", errors.math);
  json.Set("count", static_cast<int64_t>(errors.count));
  json.Set("unpredicted", static_cast<int64_t>(errors.unpredicted));
  if (errors.unpredicted < errors.count) {
    json.Set("median_error", errors.median);
    json.Set("error_95", errors.percentile_95);
    json.Set("bias", errors.bias);
    json.Set("inside_interval", errors.inside);
    json.Set("polynomial_share", errors.polynomial_share);
  }
  return json;
}

void AddRow(const PredictionErrors& errors, TextTable& table) {
  std::vector<std::string> cells = {errors.family,
                                    errors.library.empty() ? "-" : errors.library,
                                    errors.unit_class,
                                    errors.math.empty() ? "-" : errors.math,
                                    std::to_string(errors.count),
                                    std::to_string(errors.unpredicted)};
  if (errors.unpredicted == errors.count) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
  } else {
    for (const double share :
         {errors.median, errors.percentile_95, errors.bias, errors.inside, errors.polynomial_share})
      cells.push_back(Percent(share));
  }
  table.Row(std::move(cells));
}

}  // namespace

Status PrintPredictionErrors(const std::string& db, bool json) {
  const std::string path = db.empty() ? ProfileDb::DefaultPath() : db;
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    Error error = MakeError(ErrorCode::kInvalidInput, "profile_db.absent", "there is no database " + path,
                            "pt-profile MODEL.onnx --db " + path + " makes one");
    error.file = path;
    return error;
  }
  PT_ASSIGN(const ProfileDb database, ProfileDb::Open(db.empty() ? ProfileDb::DefaultPath() : db));
  Profile profile;
  PT_ASSIGN(profile.measurements, database.All());
  const std::vector<HeldOutPrediction> predictions = PredictHeldOut(profile);
  const std::vector<PredictionErrors> families = ErrorsByFamily(predictions);
  if (json) {
    Json rows = Json::MakeArray();
    for (const PredictionErrors& errors : families) rows.Push(ErrorsJson(errors));
    Json whole = Json::MakeObject();
    whole.Set("families", std::move(rows));
    return WriteOut(WriteJson(whole) + "\n");
  }
  TextTable table({"family", "<library", "<units", "<math", "count", "unpredicted", "median error", "95 %", "bias",
                   "inside", "polynomial"});
  for (const PredictionErrors& errors : families) AddRow(errors, table);
  return WriteOut(table.Text());
}

}  // namespace pt::tools
