// Predictor: the times of work that was not measured, from a profile's other measurements.
//
// On one kind of unit, measurements are grouped, finest first: by how they run (math mode, library, family, style); by
// math mode, library and family; by math mode and library; by math mode. The finest group whose laws can be assessed
// answers, by the law with the least error for samples that it had not seen; a group with few samples asks the laws of
// its family too, judged on its own samples. The coarsest group knows the roofline alone.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/cost/held_out.h"
#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/cost/prediction_errors.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

struct WorkToPredict {
  std::string family, device, unit_class, library, math;  // library and math are empty for reorders
  WorkFeatures features;
};

class Predictor {
 public:
  // Measurements of other methods, failures and what is not work (copies, overheads, waits, fetches) are not samples.
  explicit Predictor(const Profile& profile);

  // Empty where nothing was measured that tells something. Thread-safe.
  std::optional<Estimate> Predict(const WorkToPredict& work);
  // See PredictHeldOut: laws, the choice among them and intervals come from the other folds.
  std::vector<HeldOutPrediction> HeldOut();

 private:
  enum Level : size_t { kByMath = 3, kByLibrary = 4, kByFamily = 5, kByStyle = 6 };
  // Device, unit class, math mode, library, family, style: as many of them as the level says.
  struct GroupKey {
    Level level = kByStyle;
    std::array<std::string, kByStyle> names;
    friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
  };
  struct Group {
    std::vector<const LawSample*> samples;
    bool assessed = false;
    std::vector<size_t> folds;
    std::vector<AssessedLaw> laws;
    std::optional<Roofline> roofline;  // of kByMath
  };
  // What a group's samples say of unmeasured work like theirs.
  struct Answer {
    const AssessedLaw* assessed = nullptr;  // null: nothing
    size_t works = 0;                       // different ones among the samples
    std::vector<double> ratios;             // log(measured / predicted) of samples that were left out, ascending
  };
  // Whose samples judge, and the laws that are judged.
  struct Jury {
    const Group* group = nullptr;
    std::vector<const AssessedLaw*> laws;
  };

  static GroupKey KeyOf(const WorkToPredict& work);
  static GroupKey Coarser(const GroupKey& key, Level level);
  void AddSample(const GroupKey& style, const LawSample& sample);
  const Group& AssessedGroup(const GroupKey& key);
  Jury JuryOf(const GroupKey& style);
  // By the judging samples outside of this fold; by all of them without one.
  static Answer AnswerOf(const Jury& jury, std::optional<size_t> but_fold);
  void HoldOut(const GroupKey& style, std::vector<HeldOutPrediction>& predictions);
  double FloorOf(const GroupKey& style, const WorkFeatures& work);

  std::mutex mutex_;
  std::vector<LawSample> samples_;
  std::map<GroupKey, Group> groups_;
  std::map<GroupKey, Answer> answers_;  // by style
};

}  // namespace pt
