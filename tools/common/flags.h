// The flags all three tools share, and how they are read: unknown flags are refused (exit 2), every
// option can also be given as the environment variable PARTITIONTUNER_<OPTION>.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/exec/kernel_watch.h"
#include "tools/common/console.h"
#include "tools/common/flag_table.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace pt::tools {

struct CommonFlags {
  std::string db, libraries, precision, max_error, nan, rewrite,
      devices = "all", plugins = "all", plugin_path, pins = "auto", sim_clock = "virtual", sim_fault, format = "table",
      progress = "auto";
  std::vector<std::string> models, platforms, dims, shapes, constants, inputs;
  std::string external_data, external_limit;
  std::string config, describe;
  std::string command_line;  // as it was typed, ready for a shell
  bool allow_links = false;
  std::string deadline, run_memory;
  uint32_t threads = 0;
  int verbosity = 0;
  bool quiet = false, list_devices = false, print_platform = false, doctor = false, version = false, help = false,
       help_all = false;
  KernelWatch* kernel_watch = nullptr;  // of the tools that have one; outlives every engine

  bool json() const { return format == "json"; }
  // For people: the model's file, of several all of them; empty where none is given.
  std::string model() const;
  // Lower precision is to be used as far as an error budget allows.
  bool wants_budget() const { return precision == "auto"; }
  bool keep_nan() const { return nan == "keep"; }
};

// For ->check(): the value is one of these words.
CLI::Validator OneOf(std::initializer_list<std::string_view> words);
void AddCommonFlags(CLI::App& app, CommonFlags& flags);
// Of tools that run models: how long one run may take, and how much memory.
void AddRunLimits(CLI::App& app, CommonFlags& flags);

// Reads the command line and configures the console. An exit code when the tool is done: bad usage,
// --help, --version.
std::optional<int> ParseFlags(CLI::App& app, CommonFlags& flags, int argc, char** argv, Console& console);

// Machine and database as the flags say. Errors: kUsage. That a device, plugin or library which was named can be used
// is seen when the machine is made.
Result<EngineOptions> EngineOptionsOf(const CommonFlags& flags);
// The modes that --precision allows. Errors: kUsage.
Result<Precision> AllowedPrecision(const CommonFlags& flags);
// The largest error that --precision auto allows. Errors: kUsage (not a number above zero, or no --precision auto).
Result<double> MaxErrorOf(const CommonFlags& flags);
// What --deadline says: nothing where it is not given, 0 for no deadline. Errors: kUsage.
Result<std::optional<std::chrono::nanoseconds>> DeadlineOf(const CommonFlags& flags);
// What --run-memory says, by default half of the machine's memory; 0: no limit. Errors: kUsage.
Result<uint64_t> RunBytesOf(const CommonFlags& flags);
// --precision, --nan, --rewrite, --dim, --shape and --constant. Dims of given data are added by who reads it.
Result<ModelOptions> ModelOptionsOf(const CommonFlags& flags);

}  // namespace pt::tools
