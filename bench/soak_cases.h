// What soak runs share: settings, models at their sizes with plans and what each gave first, and what a process holds.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/shaped_sessions.h"

namespace pt::bench {

struct SoakSettings {
  std::chrono::steady_clock::duration time = std::chrono::minutes(10);
  size_t callers = 3;
  uint64_t seed = 1;
  uint64_t rate = 0;       // requests a second through queues instead of callers; 0: callers
  MachineOptions machine;  // of the engines that come and go
  std::vector<std::string> models;
};
Result<SoakSettings> SoakSettingsFrom(const std::vector<std::string>& words);

// A folder for files of this run alone.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

using Values = std::vector<Datum>;
bool Same(const Values& a, const Values& b);  // bit for bit

// A model at one size: plans for it, what each gave first, and the session that callers share.
struct Case {
  std::string name;
  size_t network = 0;
  ModelOptions options;
  std::shared_ptr<const Model> model;
  Values inputs;
  std::vector<Plan> plans;
  std::vector<Values> expected;          // by plan
  std::optional<Values> of_sizes, anew;  // by ShapedSessions, and by engines that come and go
  std::unique_ptr<Session> session;
};

struct Network {
  std::string path;
  std::unique_ptr<ShapedSessions> sizes;
};

// Borrowed by what runs them.
struct Cases {
  Folder folder;
  std::unique_ptr<Engine> engine;
  std::vector<Network> networks;
  std::vector<Case> cases;

  // The models of the settings, or two that are made.
  static Result<std::unique_ptr<Cases>> Make(const SoakSettings& settings);
  // Their result is what one of the plans gave first; the plan is known unless it was replaced between `before` and
  // `after`.
  static bool IsResultOf(const Case& of, const Values& found, const Plan& before, const Plan& after);
};

struct Resources {
  double allocated_mib = 0, resident_mib = 0;
  int handles = 0, threads = 0;
};
Resources CountResources();
// "  12.34 MiB allocated   56.7 resident   12 handles    6 threads", without the end of a line.
std::string ToString(const Resources& counted);
// Prints what is more at the end, and whether that is more than may be.
bool HasGrown(const Resources& first, const Resources& last);

}  // namespace pt::bench
