#include "lib/onnx/cut_model.h"

#include <algorithm>

#include "lib/onnx/wire_fields.h"

namespace pt {
namespace {

constexpr uint64_t kWorthCutting = 16 << 10;        // raw_data of at least this many bytes
constexpr uint64_t kMostKept = uint64_t{32} << 20;  // what stays is copied once or twice
constexpr size_t kWindow = 16 << 10;
constexpr uint32_t kGraphOfModel = 7, kInitializerOfGraph = 5, kRawDataOfTensor = 9;

// The file as bytes one after the other, through a window. After a failure everything fails.
class Reader {
 public:
  explicit Reader(const InputFile& file) : file_(file), window_(kWindow) {}

  bool failed() const { return failed_; }

  std::byte At(uint64_t position) {
    if (position < begin_ || position >= begin_ + filled_) Fill(position);
    return failed_ ? std::byte{0} : window_[static_cast<size_t>(position - begin_)];
  }

  void Append(uint64_t begin, uint64_t end, std::string& out) {
    if (out.size() + (end - begin) > kMostKept) failed_ = true;
    if (failed_) return;
    const size_t size = out.size();
    out.resize(size + static_cast<size_t>(end - begin));
    const auto to = std::as_writable_bytes(std::span(out)).subspan(size);
    if (begin >= begin_ && end <= begin_ + filled_) {
      std::copy_n(window_.begin() + static_cast<ptrdiff_t>(begin - begin_), to.size(), to.begin());
    } else if (!file_.ReadAt(begin, to).ok()) {
      failed_ = true;
    }
  }

 private:
  void Fill(uint64_t position) {
    begin_ = position;
    filled_ = static_cast<size_t>(std::min<uint64_t>(kWindow, file_.size() - std::min(position, file_.size())));
    if (filled_ == 0 || !file_.ReadAt(begin_, std::span(window_).first(filled_)).ok()) failed_ = true;
    if (failed_) filled_ = 0;
  }

  const InputFile& file_;
  std::vector<std::byte> window_;
  uint64_t begin_ = 0;
  size_t filled_ = 0;
  bool failed_ = false;
};

class Cutter {
 public:
  explicit Cutter(const InputFile& file) : reader_(file), size_(file.size()) {}

  std::optional<CutModel> Run() {
    CutModel cut;
    raw_data_ = &cut.raw_data;
    const auto graph = [this](const WireField& f, std::string& to) { return CutGraph(f, to); };
    if (!CopyMessage(0, size_, kGraphOfModel, graph, cut.bytes) || reader_.failed() || !any_) return std::nullopt;
    return cut;
  }

 private:
  // Copies the fields of a message; those of one number through `change`.
  template <typename Change>
  bool CopyMessage(uint64_t at, uint64_t end, uint32_t number, const Change& change, std::string& out) {
    uint64_t unchanged = at;  // from here on to be copied as it is
    while (at < end) {
      const std::optional<WireField> field = ReadWireField(reader_, at, end);
      if (!field) return false;
      if (field->number != number || field->wire_type != kWireLength) continue;
      reader_.Append(unchanged, field->begin, out);
      unchanged = field->end;
      std::string content;
      if (!change(*field, content)) return false;
      if (content.size() + out.size() > kMostKept) return false;
      AppendWireMessage(number, content, out);
    }
    reader_.Append(unchanged, end, out);
    return !reader_.failed();
  }

  bool CutGraph(const WireField& graph, std::string& out) {
    const auto tensor = [this](const WireField& f, std::string& to) { return CutTensor(f, to); };
    return CopyMessage(graph.content, graph.end, kInitializerOfGraph, tensor, out);
  }

  bool CutTensor(const WireField& tensor, std::string& out) {
    std::optional<WireField> raw;
    uint64_t at = tensor.content;
    while (at < tensor.end) {
      const std::optional<WireField> field = ReadWireField(reader_, at, tensor.end);
      if (!field) return false;
      if (field->number != kRawDataOfTensor) continue;
      if (raw || field->wire_type != kWireLength) return false;
      raw = field;
    }
    if (!raw || raw->end - raw->content < kWorthCutting) {
      raw_data_->emplace_back();
      reader_.Append(tensor.content, tensor.end, out);
      return true;
    }
    any_ = true;
    raw_data_->emplace_back(FileRange{raw->content, raw->end - raw->content});
    reader_.Append(tensor.content, raw->begin, out);
    reader_.Append(raw->end, tensor.end, out);
    return true;
  }

  Reader reader_;
  uint64_t size_;
  std::vector<std::optional<FileRange>>* raw_data_ = nullptr;
  bool any_ = false;
};

}  // namespace

std::optional<CutModel> CutModelFile(const InputFile& file) { return Cutter(file).Run(); }

}  // namespace pt
