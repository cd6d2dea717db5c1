// Takes a drawn graph through a setting: passes, candidates, a plan, its check, its JSON, sessions, outputs. What must
// come out is what the reference library makes of the graph as it was drawn.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "partitiontuner/exec/session.h"
#include "test/testing/check_case.h"
#include "test/testing/generated/prepared_case.h"
#include "test/testing/generated/setting.h"

namespace pt::testing {

class GraphCheck {
 public:
  // Empty when all is right; else "KIND: what is wrong", where faults of one kind may be the same fault.
  std::string WhyWrong(const PreparedCase& prepared, const Setting& setting);

  // What has been run so far: names of planners, of libraries with how many of their candidates, of operators.
  struct Tally {
    std::set<std::string> planners, operators;
    std::map<std::string, size_t> libraries;
    size_t outputs_compared = 0;
    size_t excused = 0;              // comparisons that failed, of values that Trials::kMany found not to be steady
    size_t not_for_the_planner = 0;  // "exact" takes few operators, "rnn-pipeline" recurrent layers
  };
  const Tally& tally() const { return tally_; }

 private:
  Machine& MachineOf(const Setting& setting);
  Status Check(const PreparedCase& prepared, const Setting& setting);
  Status CheckCandidates(const PreparedCase& prepared, const Setting& setting, const Graph& graph);
  Result<std::unique_ptr<Session>> Open(const Setting& setting, std::shared_ptr<const Graph> graph);
  Status CheckRuns(const PreparedCase& prepared, const Setting& setting, Session& session, size_t requests);

  std::array<std::unique_ptr<Machine>, 4> machines_;  // of one and two cores, without and with a device
  Tally tally_;
};

}  // namespace pt::testing
