#include "lib/plan/check_described.h"

#include "lib/plan/plan_fields.h"

namespace pt {
namespace {

std::string FormsText(const std::vector<Form>& forms) {
  std::string text;
  for (const Form& form : forms) {
    text += (text.empty() ? "" : ", ") + ToString(form.layout) + ":" + std::string(DataTypeName(form.storage));
  }
  return "[" + text + "]";
}

std::string AliasesText(const std::vector<Alias>& aliases) {
  std::string text;
  for (const Alias& alias : aliases) {
    text += (text.empty() ? "" : ", ") + std::to_string(alias.out) + " over " + std::to_string(alias.in) +
            (alias.kind == Alias::Kind::kRequired ? " required" : " allowed");
  }
  return "[" + text + "]";
}

std::string NodesText(const std::vector<NodeId>& nodes) {
  std::string text;
  for (NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value);
  return "[" + text + "]";
}

class DescriptionChecker {
 public:
  DescriptionChecker(const Plan& plan, const PlanDescription& description, Absent absent,
                     std::vector<PlanFault>& faults)
      : plan_(plan), description_(description), absent_(absent), faults_(faults) {}

  std::vector<const Candidate*> Run() {
    if (absent_ == Absent::kFault) {
      for (const std::string& name : description_.absent) {
        Fault("library_absent", "the library '" + name + "' is not loaded, so nobody can say what its steps do");
      }
    }
    std::vector<const Candidate*> candidates;
    for (size_t c = 0; c < plan_.candidates.size(); ++c) candidates.push_back(CandidateToGoBy(c));
    for (const auto& [step, why] : description_.reorders) {
      Fault("reorder_library", "step " + std::to_string(step.value) + ": " + why);
    }
    return candidates;
  }

 private:
  void Fault(std::string id, std::string message) { faults_.push_back({std::move(id), std::move(message)}); }

  const Candidate* CandidateToGoBy(size_t c) {
    const Candidate& file = plan_.candidates[c];
    if (description_.absent.contains(file.library)) return &file;
    if (c >= description_.candidates.size()) {
      Fault("candidate_unknown", "candidate " + std::to_string(c) + " was described by no library");
      return &file;
    }
    const Result<Candidate>& described = description_.candidates[c];
    if (!described.ok()) {
      Fault("candidate_unknown", "candidate " + std::to_string(c) + ": " + described.error().message);
      return &file;
    }
    Compare(c, file, *described);
    return &*described;
  }

  void Compare(size_t c, const Candidate& file, const Candidate& library) {
    const auto compare = [&](const char* field, bool same, const std::string& in_file, const std::string& in_library) {
      if (same) return;
      Fault("candidate_field", "candidate " + std::to_string(c) + ": " + field + " is " + in_file +
                                   " in the plan, the library '" + library.library + "' says " + in_library);
    };
    const auto texts = [&](const char* field, std::string_view a, std::string_view b) {
      compare(field, a == b, "'" + std::string(a) + "'", "'" + std::string(b) + "'");
    };
    const auto numbers = [&](const char* field, uint64_t a, uint64_t b) {
      compare(field, a == b, std::to_string(a), std::to_string(b));
    };
    compare("nodes", file.nodes == library.nodes, NodesText(file.nodes), NodesText(library.nodes));
    numbers("unit_class", file.unit_class.value, library.unit_class.value);
    texts("library", file.library, library.library);
    texts("variant", file.variant, library.variant);
    texts("math", MathModeName(file.math), MathModeName(library.math));
    compare("in", file.in == library.in, FormsText(file.in), FormsText(library.in));
    compare("out", file.out == library.out, FormsText(file.out), FormsText(library.out));
    compare("aliases", file.aliases == library.aliases, AliasesText(file.aliases), AliasesText(library.aliases));
    texts("elision", ElisionName(file.elision), ElisionName(library.elision));
    numbers("scratch_bytes", file.scratch_bytes, library.scratch_bytes);
    numbers("constant_bytes", file.constant_bytes, library.constant_bytes);
  }

  const Plan& plan_;
  const PlanDescription& description_;
  const Absent absent_;
  std::vector<PlanFault>& faults_;
};

}  // namespace

std::vector<const Candidate*> CheckDescribed(const Plan& plan, const PlanDescription& description, Absent absent,
                                             std::vector<PlanFault>& faults) {
  return DescriptionChecker(plan, description, absent, faults).Run();
}

}  // namespace pt
