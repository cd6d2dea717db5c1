#include "tools/common/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/support/closest_word.h"
#include "partitiontuner/support/control_groups.h"
#include "partitiontuner/support/text.h"
#include "partitiontuner/version.h"
#include "tools/common/built_with.h"
#include "tools/common/commands.h"
#include "tools/common/config_file.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

std::string EnvironmentName(std::string_view option) {
  std::string name = "PARTITIONTUNER_";
  for (const char c : option) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// --format json must hold for errors of the command line itself.
bool AsksForJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--format=json" || (arg == "--format" && i + 1 < argc && std::string_view(argv[i + 1]) == "json"))
      return true;
  }
  return false;
}

std::string VersionText(const CLI::App& app, bool json) {
  Json libraries = Json::MakeObject();
  std::string text = app.get_name() + " " + std::string(kVersion) + "\nlibraries:";
  for (const LibraryRow& row : BuiltInLibraries()) {
    const std::string version = row.make()->version();
    text += " " + std::string(row.name) + " " + version + ",";
    libraries.Set(std::string(row.name), version);
  }
  text.back() = '\n';
  Json dependencies = Json::MakeObject();
  text += "dependencies:";
  for (const Dependency& dependency : Dependencies()) {
    text += " " + std::string(dependency.name) + " " + std::string(dependency.version) + ",";
    dependencies.Set(std::string(dependency.name), std::string(dependency.version));
  }
  text.back() = '\n';
  if (!json) return text;
  Json object = Json::MakeObject();
  object.Set("tool", app.get_name());
  object.Set("version", kVersion);
  object.Set("libraries", std::move(libraries));
  object.Set("dependencies", std::move(dependencies));
  return WriteJson(object) + "\n";
}

int Printed(const std::string& text, const Console& console) {
  const Status status = WriteOut(text);
  return status.ok() ? 0 : console.Fail(status.error());
}

}  // namespace

std::string CommonFlags::model() const {
  std::string text;
  for (const std::string& word : models) text += (text.empty() ? "" : " + ") + word;
  return text;
}

CLI::Validator OneOf(std::initializer_list<std::string_view> words) {
  const std::vector<std::string_view> known(words);
  return CLI::Validator(
      [known](const std::string& given) {
        return std::ranges::find(known, given) != known.end() ? "" : UnknownWord("value", given, known);
      },
      "");
}

void AddCommonFlags(CLI::App& app, CommonFlags& flags) {
  app.set_help_flag();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option(
         "model", flags.models,
         "ONNX model\n(several are planned and run as one: what each calls its own gets its file's name or NAME "
         "in front, with a / between)")
      ->option_text("MODEL.onnx | NAME=FILE ...")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);

  const auto list = [&](const char* name, std::vector<std::string>& to, const char* text, const char* help) {
    app.add_option(name, to, help)
        ->option_text(text)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group("Data");
  };
  list("--dim", flags.dims, "NAME=N", "size of a named dimension (repeatable)");
  app.add_option("--precision", flags.precision,
                 "math modes allowed beside fp32: bf16, fp16, tf32, or auto\n(and storage with them; fp16 and tf32 on "
                 "devices that have them; auto: every mode as far as --max-error allows)")
      ->option_text("MODES | auto")
      ->group("Data");
  app.add_option("--max-error", flags.max_error,
                 "largest error that --precision auto allows (0.01)\n(difference from fp32 by the largest magnitude of "
                 "each output)")
      ->option_text("E")
      ->group("Data");
  app.add_option(
         "--nan", flags.nan,
         "keep: only kernels that leave NaN where the operators' definitions put it; any (default): Relu, Clip, "
         "Max and others may lose it")
      ->option_text("keep|any")
      ->check(OneOf({"keep", "any"}))
      ->group(kMoreGroup);
  app.add_option("--rewrite", flags.rewrite,
                 "work on another graph that computes the same\n(time-slices=N, requests=N, split=NODES:PARTS, "
                 "split-rows=NODES:PARTS, with commas between them)")
      ->option_text("LIST")
      ->group("Data");
  list("--shape", flags.shapes, "INPUT=1x3x224x224", "shape of an input (repeatable)");
  list("--constant", flags.constants, "INPUT=NUMBER",
       "the input is always this number (repeatable)\n(runs with another are refused)");
  list("--input", flags.inputs, "DIR | NAME=DIR | INPUT=@FILE | random[LO,HI]",
       "input data: a folder, a file, or random numbers (repeatable)\n(a folder of input_N.pb, of several models each "
       "by its name; a .npy or .pb file; random without)");

  app.add_option("--external-data", flags.external_data, "where the model's external data lies (its own folder)")
      ->option_text("FOLDER")
      ->group(kMoreGroup);
  app.add_flag("--allow-links", flags.allow_links, "follow symbolic links of external data that stay in that folder")
      ->group(kMoreGroup);
  app.add_option("--external-limit", flags.external_limit, "most external data of a model (the machine's memory)")
      ->option_text("SIZE")
      ->group(kMoreGroup);

  app.add_option("--devices", flags.devices, "devices to use: all, or a list of names and sim:FILE")
      ->option_text("LIST")
      ->capture_default_str()
      ->group("Machine");
  app.add_option("--platform", flags.platforms,
                 "file of a simulated device (repeatable), or of a whole machine\n(which is planned for)")
      ->option_text("FILE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Machine");
  app.add_option(
         "--sim-clock", flags.sim_clock,
         "clock of simulated devices (virtual)\n(virtual: no waiting; real: they take the platform file's time)")
      ->option_text("virtual | real")
      ->check(OneOf({"virtual", "real"}))
      ->group("Machine");
  app.add_option("--sim-fault", flags.sim_fault,
                 "how simulated devices fail: lost after N kernels, a queue of N pieces of work, N times as slow")
      ->option_text("lost=N,queue=N,slow=N")
      ->group(kMoreGroup);
  app.add_option("--libraries", flags.libraries, "libraries that may be used, for instance onednn,reference")
      ->option_text("LIST")
      ->group("Machine");
  app.add_option("--threads", flags.threads, "cores that may be used (all allowed ones)")
      ->option_text("N")
      ->check(CLI::Range(1U, 65536U))
      ->group("Machine");
  app.add_option("--pin", flags.pins,
                 "threads kept on one core each: all but a caller who runs alone (auto), that one too (core), or none")
      ->option_text("auto | core | none")
      ->check(OneOf({"auto", "core", "none"}))
      ->group(kMoreGroup);
  app.add_option("--db", flags.db, "profile database, or none")->option_text("FILE")->group("Machine");
  app.add_option("--plugins", flags.plugins, "plugins to use: all that can be, none, or a list that must be usable")
      ->option_text("LIST")
      ->group(kMoreGroup);
  app.add_option("--plugin-path", flags.plugin_path, "folders of plugins, with : between them")
      ->option_text("FOLDERS")
      ->group(kMoreGroup);
  app.add_flag("--list-devices", flags.list_devices,
               "print devices, libraries and plugins, then exit\n(with units, and why others are not used)")
      ->group("Machine");
  app.add_flag("--doctor", flags.doctor, "the same, with all of the host that bears on times")->group("Machine");
  app.add_flag("--print-platform", flags.print_platform, "print the machine as a file for --platform, then exit")
      ->group(kMoreGroup);

  app.add_option("--format", flags.format, "table or json")
      ->option_text("FORM")
      ->check(OneOf({"table", "json"}))
      ->group("Output");
  app.add_option("--config", flags.config,
                 "options from a file, as OPTION = VALUE (TOML); below [pt-run] and the like for that tool alone")
      ->option_text("FILE")
      ->group(kMoreGroup);
  app.add_option("--describe", flags.describe, "print the man page, or the completion for a shell, then exit")
      ->option_text("man|bash|zsh|fish")
      ->check(OneOf({"man", "bash", "zsh", "fish"}))
      ->group(kMoreGroup);
  app.add_option("--progress", flags.progress, "auto, tty, plain or none")
      ->option_text("MODE")
      ->check(OneOf({"auto", "tty", "plain", "none"}))
      ->group(kMoreGroup);
  app.add_flag("-v,--verbose", flags.verbosity, "say more (-vv: still more)")->group("Output");
  app.add_flag("-q,--quiet", flags.quiet, "no notes and no progress on standard error")->group("Output");
  app.add_flag("--version", flags.version, "versions of the tool and its libraries")->group("Output");
  app.add_flag("-h,--help", flags.help, "this text")->group("Output");
  app.add_flag("--help-all", flags.help_all, "all options and the exit codes")->group("Output");
}

namespace {

// " (PARTITIONTUNER_THREADS=abc)" where the option that a message begins with was given by the environment.
std::string FromEnvironment(const CLI::App& app, std::string_view message, int argc, char** argv) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string flag = "--" + option->get_lnames().front(), name = EnvironmentName(flag.substr(2));
    const char* const value = std::getenv(name.c_str());
    const bool typed = std::any_of(argv, argv + argc,
                                   [&](std::string_view word) { return word == flag || word.starts_with(flag + "="); });
    const bool meant = message.starts_with(flag + ":") || message.ends_with(flag);
    if (value != nullptr && !typed && meant) return " (" + name + "=" + value + ")";
  }
  return "";
}

// A flag that is not known is said with the one that it may be meant for, and what follows the model as it was typed;
// all else by the parser.
std::string FaultOf(const CLI::App& app, const CLI::ParseError& problem, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& left : app.remaining()) {
    const std::string flag = left.substr(0, left.find('='));
    if (!flag.starts_with("--") || std::ranges::find(known, flag) != known.end()) continue;
    const std::string_view closest = ClosestWord(flag, std::vector<std::string_view>(known.begin(), known.end()));
    return "unknown flag " + flag + (closest.empty() ? "" : "; did you mean " + std::string(closest) + "?");
  }
  std::vector<std::string> words = app.remaining();
  if (words.empty()) return problem.what() + FromEnvironment(app, problem.what(), argc, argv);
  std::ranges::sort(words, {}, [&](const std::string& word) { return std::find(argv, argv + argc, word) - argv; });
  std::string text = "these words are not understood:";
  for (const std::string& word : words) text += " " + word;
  return text;
}

}  // namespace

void AddRunLimits(CLI::App& app, CommonFlags& flags) {
  app.add_option("--deadline", flags.deadline,
                 "most that one run may take (a minute, or a hundred times what is predicted; 0: no limit)")
      ->option_text("TIME")
      ->group(kMoreGroup);
  app.add_option("--run-memory", flags.run_memory,
                 "most memory that one run may take beside weights (half of the machine's; 0: no limit)")
      ->option_text("SIZE")
      ->group(kMoreGroup);
}

std::optional<int> ParseFlags(CLI::App& app, CommonFlags& flags, int argc, char** argv, Console& console) {
  for (CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    if (!names.empty()) option->envname(EnvironmentName(names.front()));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    console.Configure(AsksForJson(argc, argv), 0, false, ProgressMode::kNone);
    return console.Fail(
        MakeError(ErrorCode::kUsage, "usage.flag", FaultOf(app, problem, argc, argv), app.get_name() + " --help"));
  }
  flags.command_line = app.get_name();
  for (int i = 1; i < argc; ++i) flags.command_line += " " + ShellWord(argv[i]);
  const Status configured = flags.config.empty() ? Status() : ReadConfigFile(app, flags.config);
  const ProgressMode progress = flags.progress == "tty"     ? ProgressMode::kTerminal
                                : flags.progress == "plain" ? ProgressMode::kPlain
                                : flags.progress == "none"  ? ProgressMode::kNone
                                                            : ProgressMode::kAuto;
  console.Configure(flags.json(), flags.verbosity, flags.quiet, progress);
  if (!configured.ok()) return console.Fail(configured.error());
  if (flags.help || flags.help_all) {
    return Printed(HelpText(app, flags.help_all), console);
  }
  if (!flags.describe.empty()) return Printed(DescriptionFor(app, flags.describe), console);
  if (flags.version) return Printed(VersionText(app, flags.json()), console);
  return std::nullopt;
}

Result<Precision> AllowedPrecision(const CommonFlags& flags) {
  if (flags.wants_budget()) return EveryPrecision();
  return PrecisionFromText(flags.precision.empty() ? "fp32" : flags.precision);
}

namespace {

Result<SimulatedFaults> FaultsOf(std::string_view text) {
  constexpr std::string_view kFlag = "--sim-fault";
  constexpr double kMost = 1e9;
  SimulatedFaults faults;
  for (const std::string& item : SplitList(text)) {
    PT_ASSIGN(const auto fault, ParseAssignment(item, kFlag));
    const auto& [name, number_text] = fault;
    PT_ASSIGN(const double number, ParseNumber(number_text, kFlag));
    const bool counts = name == "lost" || name == "queue";
    if (!counts && name != "slow") {
      return MakeError(ErrorCode::kUsage, "usage.value",
                       std::string(kFlag) + ": " + UnknownWord("fault", name, {"lost", "queue", "slow"}));
    }
    if (!(number >= 1 && number <= kMost) || (counts && number != std::floor(number))) {
      return MakeError(ErrorCode::kUsage, "usage.value",
                       std::string(kFlag) + ": " + name + " wants a " + (counts ? "whole " : "") +
                           "number from 1 to a thousand million, not " + number_text);
    }
    if (name == "lost") faults.lost_after = static_cast<uint64_t>(number);
    if (name == "queue") faults.queue = static_cast<uint64_t>(number);
    if (name == "slow") faults.slow_down = number;
  }
  return faults;
}

}  // namespace

Result<EngineOptions> EngineOptionsOf(const CommonFlags& flags) {
  EngineOptions options;
  options.db_path = flags.db;
  options.machine.max_cores = flags.threads;
  options.machine.pins = flags.pins == "core" ? Pins::kCore : flags.pins == "none" ? Pins::kNone : Pins::kAuto;
  options.machine.libraries = SplitList(flags.libraries);
  options.machine.platform_files = flags.platforms;
  options.machine.plugin_paths = SplitFolders(flags.plugin_path);
  options.machine.kernel_watch = flags.kernel_watch;
  if (flags.plugins != "all") options.machine.plugins = SplitList(flags.plugins);
  options.machine.simulated_clock = flags.sim_clock == "real" ? SimulatedClock::kReal : SimulatedClock::kVirtual;
  PT_ASSIGN(options.machine.simulated_faults, FaultsOf(flags.sim_fault));
  PT_ASSIGN(options.trial_deadline, DeadlineOf(flags));
  PT_ASSIGN(options.trial_bytes, RunBytesOf(flags));
  bool all = false;
  for (const std::string& device : SplitList(flags.devices)) {
    // "sim:0" is a device, "sim:FILE" the file that describes one.
    const bool file = device.starts_with("sim:") && device.find_first_not_of("0123456789", 4) != std::string::npos;
    if (device == "all") {
      all = true;
    } else if (file) {
      options.machine.platform_files.push_back(device.substr(4));
    } else {
      options.machine.devices.push_back(device);
    }
  }
  if (all && !options.machine.devices.empty()) {
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "--devices " + flags.devices + " names all devices and some: give one or the other");
  }
  return options;
}

Result<double> MaxErrorOf(const CommonFlags& flags) {
  if (flags.max_error.empty()) return ErrorBudget().max_error;
  if (!flags.wants_budget()) {
    return MakeError(ErrorCode::kUsage, "usage.combination", "--max-error says how far --precision auto may go",
                     "give --precision auto, or leave out --max-error");
  }
  PT_ASSIGN(const double max_error, ParseNumber(flags.max_error, "--max-error"));
  if (!(max_error > 0) || !std::isfinite(max_error)) {
    return MakeError(ErrorCode::kUsage, "usage.value", "--max-error " + flags.max_error + " is not a number above zero",
                     "--max-error 0.01");
  }
  return max_error;
}

Result<std::optional<std::chrono::nanoseconds>> DeadlineOf(const CommonFlags& flags) {
  if (flags.deadline.empty()) return std::optional<std::chrono::nanoseconds>();
  if (flags.deadline == "0") return std::optional(std::chrono::nanoseconds(0));
  PT_ASSIGN(const std::chrono::nanoseconds deadline, ParseDuration(flags.deadline, "--deadline"));
  return std::optional(deadline);
}

Result<uint64_t> RunBytesOf(const CommonFlags& flags) {
  if (flags.run_memory.empty()) return MachineMemory() / 2;
  return ParseBytes(flags.run_memory, "--run-memory");
}

Result<ModelOptions> ModelOptionsOf(const CommonFlags& flags) {
  if (flags.models.empty()) {
    return MakeError(ErrorCode::kUsage, "usage.model", "no model was given", "name an ONNX file; see --help");
  }
  ModelOptions options;
  PT_CHECK_OK(MaxErrorOf(flags));
  PT_ASSIGN(options.precision, AllowedPrecision(flags));
  options.keep_nan = flags.keep_nan();
  PT_ASSIGN(options.rewrites, RewritesFromString(flags.rewrite));
  for (const std::string& text : flags.dims) {
    PT_ASSIGN(const auto pair, ParseAssignment(text, "--dim"));
    PT_ASSIGN(const auto dims, ParseDims(pair.second, "--dim " + pair.first));
    if (dims.size() != 1) {
      return MakeError(ErrorCode::kUsage, "usage.value", "--dim " + text + " is not one number",
                       "--dim " + pair.first + "=1");
    }
    options.dims[pair.first] = dims[0];
  }
  for (const std::string& text : flags.shapes) {
    PT_ASSIGN(const auto pair, ParseAssignment(text, "--shape"));
    PT_ASSIGN(options.shapes[pair.first], ParseDims(pair.second, "--shape " + pair.first));
  }
  for (const std::string& text : flags.constants) {
    PT_ASSIGN(const auto pair, ParseAssignment(text, "--constant"));
    PT_ASSIGN(options.constants[pair.first], ParseNumber(pair.second, "--constant " + pair.first));
    options.load.given_inputs.insert(pair.first);
  }
  options.load.external_data_folder = flags.external_data;
  options.load.allow_symlinks_beneath = flags.allow_links;
  if (!flags.external_limit.empty()) {
    PT_ASSIGN(options.load.external_bytes, ParseBytes(flags.external_limit, "--external-limit"));
  }
  return options;
}

}  // namespace pt::tools
