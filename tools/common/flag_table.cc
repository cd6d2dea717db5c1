#include "tools/common/flag_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "partitiontuner/support/text.h"
#include "partitiontuner/version.h"

namespace pt::tools {
namespace {

constexpr size_t kHelpColumn = 36;  // where the explanations start
constexpr size_t kHelpWidth = 100;

constexpr const char* kExitCodes[][2] = {
    {"0", "done"},
    {"1", "internal error"},
    {"2", "usage: bad flag, value, missing dims"},
    {"3", "unreadable or invalid file"},
    {"4", "operator, type or shape unsupported"},
    {"5", "device or library cannot be used"},
    {"6", "partial result: measurements missing"},
    {"7", "plan or profile does not fit model, machine or version"},
    {"8", "verification mismatch"},
    {"9", "no feasible plan under the constraints"},
    {"10", "--assert or --require-stable failed"},
    {"11", "out of memory, or over a memory limit"},
    {"12", "run failed: deadline, device lost, kernel error"},
    {"130, 143", "interrupted; finished samples are saved"},
};

constexpr const char* kOtherPlaces =
    "Every option can also be given as the environment variable PARTITIONTUNER_<OPTION>, and in the file of --config "
    "as OPTION = VALUE. A flag wins over the environment, and that over the file.";

// "keep|any", "virtual | real"; of "DIR|reference" the side that is typed as it is.
std::vector<std::string> ChoicesOf(std::string_view value) {
  std::vector<std::string> words;
  if (value.find('|') == std::string_view::npos) return words;
  while (!value.empty()) {
    const size_t bar = std::min(value.find('|'), value.size());
    std::string word(value.substr(0, bar));
    std::erase(word, ' ');
    const bool typed = std::ranges::all_of(word, [](char c) { return std::islower(c) || std::isdigit(c) || c == '-'; });
    if (typed && !word.empty()) words.push_back(word);
    value.remove_prefix(std::min(bar + 1, value.size()));
  }
  return words;
}

bool NamesFile(std::string_view value) {
  constexpr std::string_view kFiles[] = {"FILE", "DIR", "FOLDER", "MODEL", "PLAN", "A B"};
  return std::ranges::any_of(kFiles, [&](std::string_view word) { return value.starts_with(word); });
}

// Words in lines of that width, which starts again at `indent`; `at` is the column where the first one begins.
std::string Wrapped(std::string_view text, size_t at, size_t indent) {
  std::string lines;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (at > indent && at + 1 + word.size() > kHelpWidth) {
      lines += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      lines += " ";
      ++at;
    }
    lines += word;
    at += word.size();
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines;
}

std::string NamesOf(const FlagRow& row) {
  if (row.long_name.empty()) return row.value;
  std::string text = row.short_name.empty() ? row.long_name : row.short_name + ", " + row.long_name;
  return row.value.empty() ? text : text + " " + row.value;
}

std::string HelpOf(const FlagRow& row, bool all) {
  std::string line = "  " + NamesOf(row);
  if (line.size() + 1 > kHelpColumn) line += "\n" + std::string(kHelpColumn, ' ');
  if (line.size() < kHelpColumn) line.resize(kHelpColumn, ' ');
  const std::string text = all && !row.rest.empty() ? row.summary + " " + row.rest : row.summary;
  return line + Wrapped(text, kHelpColumn, kHelpColumn) + "\n";
}

std::vector<std::string> GroupsOf(const std::vector<FlagRow>& rows) {
  std::vector<std::string> groups;
  for (const FlagRow& row : rows) {
    if (std::ranges::find(groups, row.group) == groups.end()) groups.push_back(row.group);
  }
  return groups;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string FunctionName(const CLI::App& app) { return "_" + Replaced(app.get_name(), "-", "_"); }

std::string BashText(const CLI::App& app, const std::vector<FlagRow>& rows) {
  std::string flags, cases, plain;
  for (const FlagRow& row : rows) {
    if (row.long_name.empty()) continue;
    flags += (flags.empty() ? "" : " ") + row.long_name;
    const std::string pattern = row.short_name.empty() ? row.long_name : row.short_name + "|" + row.long_name;
    if (row.value.empty()) continue;
    if (!row.choices.empty()) {
      cases += "    " + pattern + ") COMPREPLY=($(compgen " + (row.takes_file ? "-f " : "") + "-W \"" +
               Joined(row.choices, " ") + "\" -- \"$cur\")); return ;;\n";
    } else if (row.takes_file) {
      cases += "    " + pattern + ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n";
    } else {
      plain += (plain.empty() ? "" : "|") + pattern;
    }
  }
  return "# bash completion of " + app.get_name() + "\n" + FunctionName(app) +
         "() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n  case \"$prev\" in\n" +
         cases + "    " + plain + ") COMPREPLY=(); return ;;\n  esac\n  if [[ $cur == -* ]]; then\n" +
         "    COMPREPLY=($(compgen -W \"" + flags + "\" -- \"$cur\"))\n  else\n" +
         "    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\ncomplete -o filenames -F " + FunctionName(app) + " " +
         app.get_name() + "\n";
}

std::string ZshText(const CLI::App& app, const std::vector<FlagRow>& rows) {
  std::string text = "#compdef " + app.get_name() + "\n_arguments -s \\\n";
  for (const FlagRow& row : rows) {
    if (row.long_name.empty()) continue;
    std::string summary = Replaced(row.summary, "'", "'\\''");
    summary = Replaced(Replaced(summary, "[", "\\["), "]", "\\]");
    std::string action;
    if (!row.value.empty()) {
      action = ":" + Replaced(Replaced(row.value, ":", "\\:"), "'", "'\\''") + ":" +
               (!row.choices.empty() ? "(" + Joined(row.choices, " ") + ")"
                : row.takes_file     ? "_files"
                                     : "");
    }
    for (const std::string& name : {row.short_name, row.long_name}) {
      if (!name.empty()) text += "  '*" + name + "[" + summary + "]" + action + "' \\\n";
    }
  }
  return text + "  '*:file:_files'\n";
}

std::string FishText(const CLI::App& app, const std::vector<FlagRow>& rows) {
  std::string text = "# fish completion of " + app.get_name() + "\n";
  for (const FlagRow& row : rows) {
    if (row.long_name.empty()) continue;
    text += "complete -c " + app.get_name();
    if (!row.short_name.empty()) text += " -s " + row.short_name.substr(1);
    text += " -l " + row.long_name.substr(2);
    if (!row.value.empty()) text += row.takes_file ? " -r -F" : " -x";
    if (!row.choices.empty()) text += " -a '" + Joined(row.choices, " ") + "'";
    text += " -d '" + Replaced(Replaced(row.summary, "\\", "\\\\"), "'", "\\'") + "'\n";
  }
  return text;
}

std::string ForRoff(const std::string& text) {
  const std::string escaped = Replaced(Replaced(text, "\\", "\\e"), "-", "\\-");
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string ManText(const CLI::App& app, const std::vector<FlagRow>& rows) {
  const std::string& name = app.get_name();
  std::string text = ".TH " + Replaced(name, "-", "\\-") + " 1 \"\" \"partitiontuner " + std::string(kVersion) +
                     "\"\n.SH NAME\n" + ForRoff(name) + " \\- " + ForRoff(app.get_description()) +
                     "\n.SH SYNOPSIS\n.B " + ForRoff(name) + "\n[OPTIONS] [MODEL.onnx ...]\n.SH OPTIONS\n";
  for (const std::string& group : GroupsOf(rows)) {
    text += ".SS " + ForRoff(group) + "\n";
    for (const FlagRow& row : rows) {
      if (row.group != group) continue;
      text += ".TP\n\\fB" + ForRoff(NamesOf(row)) + "\\fR\n" + ForRoff(row.summary + (row.rest.empty() ? "" : " ")) +
              ForRoff(row.rest) + "\n";
    }
  }
  text += ".SH ENVIRONMENT AND FILES\n" + ForRoff(kOtherPlaces) + "\n.SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) text += ".TP\n" + std::string(code) + "\n" + ForRoff(meaning) + "\n";
  return text;
}

}  // namespace

std::vector<FlagRow> FlagRowsOf(const CLI::App& app) {
  std::vector<FlagRow> rows;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    FlagRow row;
    if (!option->get_snames().empty()) row.short_name = "-" + option->get_snames().front();
    if (!option->get_lnames().empty()) row.long_name = "--" + option->get_lnames().front();
    row.value = option->get_option_text();
    const std::string& text = option->get_description();
    const size_t end = std::min(text.find('\n'), text.size());
    row.summary = text.substr(0, end);
    row.rest = text.substr(std::min(end + 1, text.size()));
    row.group = row.long_name.empty() ? "Model" : option->get_group();
    row.choices = ChoicesOf(row.value);
    row.takes_file = NamesFile(row.value);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string HelpText(const CLI::App& app, bool all) {
  const std::vector<FlagRow> rows = FlagRowsOf(app);
  std::string text = app.get_description() + "\nUsage: " + app.get_name() + " [OPTIONS] [MODEL.onnx ...]\n";
  for (const std::string& group : GroupsOf(rows)) {
    if (group == kMoreGroup && !all) continue;
    text += (all || group == "Model" ? "\n" : "") + group + "\n";
    for (const FlagRow& row : rows) {
      if (row.group == group) text += HelpOf(row, all);
    }
  }
  if (!all) return text;
  text += "\n" + Wrapped(kOtherPlaces, 0, 0) + "\n\nExit codes\n";
  for (const auto& [code, meaning] : kExitCodes) {
    std::string line = "  " + std::string(code);
    line.resize(12, ' ');
    text += line + meaning + "\n";
  }
  return text;
}

std::string DescriptionFor(const CLI::App& app, std::string_view form) {
  const std::vector<FlagRow> rows = FlagRowsOf(app);
  if (form == "bash") return BashText(app, rows);
  if (form == "zsh") return ZshText(app, rows);
  if (form == "fish") return FishText(app, rows);
  return ManText(app, rows);
}

}  // namespace pt::tools
