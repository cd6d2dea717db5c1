#include "test/testing/generated/shrink.h"

#include <algorithm>
#include <set>
#include <vector>

#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/generated/case_lines.h"

namespace pt::testing {
namespace {

using Lines = std::vector<Line>;

class Shrinking {
 public:
  Shrinking(const std::string& text, const std::function<bool(const std::string&)>& fails, size_t tries)
      : lines_(LinesOf(text)), fails_(fails), tries_(tries) {}

  std::string Run() {
    bool smaller = true;
    while (smaller && tries_ > 0) {
      smaller = DropOutputs();
      smaller = CutNodes() || smaller;
      smaller = PassBy() || smaller;
      smaller = DropAttributes() || smaller;
      smaller = ShrinkDims() || smaller;
    }
    return TextOf(lines_);
  }

 private:
  bool Try(Lines lines) {
    if (tries_ == 0) return false;
    lines = WithoutDead(std::move(lines));
    const std::string text = TextOf(lines);
    if (text == TextOf(lines_)) return false;
    --tries_;
    if (!fails_(text)) return false;
    lines_ = LinesOf(text);
    return true;
  }

  bool DropOutputs() {
    bool any = false;
    for (size_t i = lines_.size(); i-- > 0;) {
      if (i >= lines_.size() || lines_[i].kind != Line::Kind::kOutput) continue;
      Lines fewer = lines_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      any = Try(std::move(fewer)) || any;
    }
    return any;
  }

  // A node's results become inputs, or outputs of the graph where it was the last one.
  bool CutNodes() {
    bool any = false;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].kind != Line::Kind::kNode) continue;
      Lines cut = lines_;
      cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(i));
      for (const std::string& name : lines_[i].makes) {
        const std::string type = TypeOf(name);
        if (type.empty()) continue;
        cut.insert(cut.begin(), LinesOf("input " + name + " " + type).front());
      }
      std::erase_if(cut, [&](const Line& line) {
        return line.kind == Line::Kind::kOutput &&
               std::ranges::find(lines_[i].makes, line.reads[0]) != lines_[i].makes.end();
      });
      any = Try(std::move(cut)) || any;
    }
    for (size_t i = lines_.size(); i-- > 0;) {
      if (i >= lines_.size() || lines_[i].kind != Line::Kind::kNode) continue;
      Lines cut = lines_;
      cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(i));
      std::erase_if(cut, [&](const Line& line) {
        return std::ranges::any_of(lines_[i].makes, [&](const std::string& name) {
          return std::ranges::find(line.reads, name) != line.reads.end();
        });
      });
      for (const std::string& name : lines_[i].reads) {
        if (MadeByNode(name)) cut.push_back(LinesOf("output " + name).front());
      }
      any = Try(std::move(cut)) || any;
    }
    return any;
  }

  // What reads a node's result reads an operand of the same type instead.
  bool PassBy() {
    bool any = false;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].kind != Line::Kind::kNode || lines_[i].makes.size() != 1) continue;
      for (const std::string& operand : lines_[i].reads) {
        if (TypeOf(operand) != TypeOf(lines_[i].makes[0])) continue;
        Lines passed = lines_;
        for (Line& line : passed) Rename(line, lines_[i].makes[0], operand);
        passed.erase(passed.begin() + static_cast<std::ptrdiff_t>(i));
        if (Try(std::move(passed))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  bool DropAttributes() {
    bool any = false;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].kind != Line::Kind::kNode) continue;
      for (size_t at = lines_[i].text.find(") "); at != std::string::npos; at = lines_[i].text.find(' ', at + 1)) {
        const size_t start = lines_[i].text[at] == ')' ? at + 1 : at;
        const size_t end = std::min(lines_[i].text.find(' ', start + 1), lines_[i].text.size());
        Lines plain = lines_;
        plain[i].text.erase(start, end - start);
        if (Try(std::move(plain))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  // One number of all dims of inputs and constants becomes a smaller one everywhere, or in one line.
  bool ShrinkDims() {
    bool any = false;
    std::set<int64_t, std::greater<>> numbers;
    for (const Line& line : lines_) {
      for (const int64_t dim : DimsIn(line)) numbers.insert(dim);
    }
    for (const int64_t number : numbers) {
      for (const int64_t smaller : {int64_t{1}, int64_t{2}, number / 2, number - 1}) {
        if (smaller >= number || smaller < 1) continue;
        Lines shrunk = lines_;
        for (Line& line : shrunk) ReplaceDim(line, number, smaller);
        if (Try(std::move(shrunk))) {
          any = true;
          break;
        }
      }
    }
    for (size_t i = 0; i < lines_.size(); ++i) {
      const std::vector<int64_t> dims = DimsIn(lines_[i]);
      for (const int64_t number : std::set<int64_t>(dims.begin(), dims.end())) {
        for (const int64_t smaller : {int64_t{1}, number - 1}) {
          if (smaller >= number || smaller < 1) continue;
          Lines shrunk = lines_;
          ReplaceDim(shrunk[i], number, smaller);
          any = Try(std::move(shrunk)) || any;
        }
      }
    }
    return any;
  }

  static bool HasDims(const Line& line) {
    return line.kind == Line::Kind::kInput || line.kind == Line::Kind::kConstant;
  }

  static std::vector<int64_t> DimsIn(const Line& line) {
    std::vector<int64_t> dims;
    if (!HasDims(line)) return dims;
    const size_t open = line.text.find('['), close = line.text.find(']');
    for (size_t at = open + 1; at < close; at = line.text.find_first_of(",]", at) + 1) {
      dims.push_back(std::stoll(line.text.substr(at)));
    }
    return dims;
  }

  static void ReplaceDim(Line& line, int64_t number, int64_t by) {
    const std::vector<int64_t> dims = DimsIn(line);
    if (dims.empty()) return;
    std::string list = "[";
    for (const int64_t dim : dims) list += (list.size() > 1 ? "," : "") + std::to_string(dim == number ? by : dim);
    const size_t open = line.text.find('['), close = line.text.find(']');
    line.text.replace(open, close - open, list);
  }

  static void Rename(Line& line, const std::string& name, const std::string& by) {
    if (std::ranges::find(line.reads, name) == line.reads.end()) return;
    std::string text;
    if (line.kind == Line::Kind::kOutput) {
      text = "output " + by;
    } else {
      const size_t open = line.text.find('('), close = line.text.find(')');
      text = line.text.substr(0, open + 1);
      size_t at = open + 1;
      while (at < close) {
        const size_t end = std::min(line.text.find(',', at), close);
        const size_t start = line.text.find_first_not_of(' ', at);
        const std::string operand = line.text.substr(start, end - start);
        text += (at == open + 1 ? "" : ", ") + (operand == name ? by : operand);
        at = end + 1;
      }
      text += line.text.substr(close);
    }
    line = LinesOf(text).front();
  }

  bool MadeByNode(const std::string& name) const {
    return std::ranges::any_of(lines_, [&](const Line& line) {
      return line.kind == Line::Kind::kNode && std::ranges::find(line.makes, name) != line.makes.end();
    });
  }

  // Of a value of the graph as it is now, as the text form says it; empty where it is not known.
  std::string TypeOf(const std::string& name) const {
    const Result<Graph> parsed = ParseGraph(TextOf(lines_));
    if (!parsed.ok()) return "";
    const Result<Graph> typed = InferShapes(*parsed);
    if (!typed.ok()) return "";
    const ValueId id = typed->find_value(name);
    return id.valid() && typed->value(id).type.is_static() ? ToString(typed->value(id).type) : "";
  }

  Lines lines_;
  const std::function<bool(const std::string&)>& fails_;
  size_t tries_;
};

}  // namespace

std::string Shrink(const std::string& text, const std::function<bool(const std::string&)>& fails, size_t tries) {
  return Shrinking(text, fails, tries).Run();
}

}  // namespace pt::testing
