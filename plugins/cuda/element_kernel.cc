#include "plugins/cuda/element_kernel.h"

#include <algorithm>

namespace pt::cuda {
namespace {

bool AnyWide(const CudaSite& site) {
  const auto wide = [](const CudaOperand& operand) { return IsWide(operand.layout); };
  return std::ranges::any_of(site.in, wide) || std::ranges::any_of(site.out, wide);
}

std::string Begin(const CudaSite& site, std::string_view index_type) {
  return "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " + std::string(index_type) +
         " Index;\n" + OperandTexts(site) + "  const Index width = (Index)gridDim.x * blockDim.x;\n" +
         "  const Index begin = (Index)blockIdx.x * blockDim.x + threadIdx.x;\n";
}

std::string Loop(int64_t count, const std::string& body) {
  return "  for (Index i = begin; i < " + std::to_string(count) + "; i += width) {\n" + body + "  }\n";
}

std::string_view Wider(const IndexSpace& a, const IndexSpace& b) {
  return a.index_type() == "int" ? b.index_type() : a.index_type();
}

std::string FourOf(const std::string& tensor) { return "Four<decltype(pt_plain(" + tensor + "[0]))>"; }

std::string IsAligned(const std::string& tensor) {
  return "(unsigned long long)" + tensor + " % alignof(" + FourOf(tensor) + ") == 0";
}

// The body with $L0$ and $S0$ replaced.
template <typename Load, typename Store>
std::string Filled(const std::string& body, Load&& load, Store&& store) {
  std::string text;
  for (size_t at = 0; at < body.size();) {
    const size_t mark = body.find('$', at);
    if (mark == std::string::npos) return text + body.substr(at);
    const size_t end = body.find('$', mark + 1);
    const auto number = static_cast<size_t>(std::stoul(body.substr(mark + 2, end - mark - 2)));
    text += body.substr(at, mark - at) + (body[mark + 1] == 'L' ? load(number) : store(number));
    at = end + 1;
  }
  return text;
}

// Writes the elementwise body, one element or four at a time.
class Together {
 public:
  Together(const CudaSite& site, const IndexSpace& space, const std::string& body)
      : site_(site), space_(space), body_(body) {}

  std::string AtCoordinates() const {
    return Filled(
        body_, [&](size_t i) { return Place(space_, Name(i), i); },
        [&](size_t i) { return Place(space_, OutName(i), Out(i)); });
  }

  std::string ByFours(const IndexSpace& quads) const {
    std::string before, after, condition;
    const auto four = [&](const std::string& name, size_t tensor) {
      condition += (condition.empty() ? "" : " && ") + IsAligned(name);
      return "(" + FourOf(name) + "*)(" + name + " + (" + quads.OffsetText(tensor) + "))";
    };
    for (size_t i = 0; i < site_.in.size(); ++i) {
      if (!quads.lies_side_by_side(i) || body_.find(Mark('L', i)) == std::string::npos) continue;
      before += "    const " + FourOf(Name(i)) + " four" + std::to_string(i) + " = *(const " +
                four(Name(i), i).substr(1) + ";\n";
    }
    for (size_t i = 0; i < site_.out.size(); ++i) {
      before += "    " + FourOf(OutName(i)) + " made" + std::to_string(i) + ";\n";
      after += "    *" + four(OutName(i), Out(i)) + " = made" + std::to_string(i) + ";\n";
    }
    const std::string inner = Filled(
        body_,
        [&](size_t i) {
          return quads.lies_side_by_side(i) ? "four" + std::to_string(i) + ".at[lane]" : Place(quads, Name(i), i);
        },
        [&](size_t i) { return "made" + std::to_string(i) + ".at[lane]"; });
    return "  if (" + condition + ") {\n" +
           Loop(quads.count(), quads.CoordinatesText("i") + before + "    for (int lane = 0; lane < 4; ++lane) {\n" +
                                   inner + "    }\n" + after) +
           "  return;\n  }\n";
  }

 private:
  static std::string Mark(char kind, size_t i) { return std::string("$") + kind + std::to_string(i) + "$"; }
  static std::string Name(size_t i) { return "in" + std::to_string(i); }
  static std::string OutName(size_t i) { return "out" + std::to_string(i); }
  size_t Out(size_t i) const { return site_.in.size() + i; }
  static std::string Place(const IndexSpace& space, const std::string& name, size_t tensor) {
    return name + "[" + space.OffsetText(tensor) + "]";
  }

  const CudaSite& site_;
  const IndexSpace& space_;
  const std::string& body_;
};

}  // namespace

KernelText ElementKernel(const CudaSite& site, IndexSpace space, const std::string& body) {
  if (AnyWide(site)) space.Widen();
  KernelText kernel;
  kernel.elements = space.count();
  kernel.text = Begin(site, space.index_type()) + Loop(space.count(), space.CoordinatesText("i") + body) + "}\n";
  return kernel;
}

KernelText TogetherKernel(const CudaSite& site, const IndexSpace& space, const std::string& body) {
  const Together together(site, space, body);
  KernelText kernel;
  kernel.elements = space.count();
  kernel.text = Begin(site, space.index_type());
  const std::optional<IndexSpace> quads = space.Quads();
  bool all_made = quads.has_value();
  for (size_t i = 0; all_made && i < site.out.size(); ++i) all_made = quads->lies_side_by_side(site.in.size() + i);
  if (all_made) kernel.text += together.ByFours(*quads);
  kernel.text += Loop(space.count(), space.CoordinatesText("i") + together.AtCoordinates()) + "}\n";
  return kernel;
}

std::string AtCoordinates(const CudaSite& site, const IndexSpace& space, const std::string& body) {
  return Together(site, space, body).AtCoordinates();
}

KernelText CopyKernel(const CudaSite& site, const Side& from, const Side& to) {
  const auto place = [](const Side& side, const IndexSpace& space, char letter) {
    return side.tensor + " + " + std::to_string(side.first) + " + " + space.OffsetText(0, letter);
  };
  const auto loop = [&](const IndexSpace& read, const IndexSpace& written, const std::string& statement) {
    return Loop(written.count(), read.CoordinatesText("i", 'f') + written.CoordinatesText("i", 't') + statement);
  };
  KernelText kernel;
  kernel.elements = to.space.count();
  kernel.text = Begin(site, Wider(from.space, to.space));
  const std::optional<IndexSpace> read = from.space.Quads(std::span(&from.first, 1));
  const std::optional<IndexSpace> written = to.space.Quads(std::span(&to.first, 1));
  if (read && written && read->lies_side_by_side(0) && written->lies_side_by_side(0)) {
    kernel.text += "  if (" + IsAligned(from.tensor) + " && " + IsAligned(to.tensor) + ") {\n" +
                   loop(*read, *written,
                        "    const " + FourOf(from.tensor) + " four = *(const " + FourOf(from.tensor) + "*)(" +
                            place(from, *read, 'f') + ");\n    " + FourOf(to.tensor) +
                            " made;\n    for (int lane = 0; lane < 4; ++lane) made.at[lane] = four.at[lane];\n    *(" +
                            FourOf(to.tensor) + "*)(" + place(to, *written, 't') + ") = made;\n") +
                   "  return;\n  }\n";
  }
  kernel.text += loop(from.space, to.space,
                      "    *(" + place(to, to.space, 't') + ") = *(" + place(from, from.space, 'f') + ");\n") +
                 "}\n";
  return kernel;
}

std::string FaultText() { return "*arguments.fault = arguments.fault_code"; }

}  // namespace pt::cuda
