#include "lib/planner/workload_file.h"

#include <cmath>

#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

// Each pair of accelerators is a way to go, and each core a unit to try: more than this is a mistake.
constexpr FieldRange kAccelerators = {0, 256, "\"{key}\" is {value}; 0 to 256 are allowed"};
constexpr FieldRange kCores = {1, 256, "\"{key}\" is {value}; 1 to 256 are allowed"};
// All times of a file together, so that no sum of some of them overflows: a third of a year.
constexpr int64_t kMostNs = int64_t{10'000'000} * 1'000'000'000;
constexpr int64_t kMostBytes = int64_t{1} << 60;  // likewise
constexpr double kNsPerMs = 1e6;
constexpr std::string_view kBadAmount = "\"{key}\" is {value}, which is below 0 or too large";

void Amount(FieldVisitor& v, std::string_view key, double scale, int64_t most, int64_t& amount, FieldNote note) {
  double number = 0;
  v.Field(key, number, note.Within({0, static_cast<double>(most) / scale, kBadAmount}));
  if (v.reads()) amount = std::llround(number * scale);
}
void Milliseconds(FieldVisitor& v, std::string_view key, int64_t& ns, const FieldNote& note) {
  Amount(v, key, kNsPerMs, kMostNs, ns, note);
}
void Bytes(FieldVisitor& v, std::string_view key, int64_t& bytes, const FieldNote& note) {
  Amount(v, key, 1, kMostBytes, bytes, note);
}

// Files write truth as true and false or as 1 and 0.
void Truth(FieldVisitor& v, std::string_view key, bool& truth, const FieldNote& note) {
  Json json;
  v.Field(key, json, note);
  if (!v.reads() || !v.Has(key)) return;
  const int64_t* number = json.as_int();
  if (const bool* boolean = json.as_bool()) {
    truth = *boolean;
  } else if (number != nullptr && (*number == 0 || *number == 1)) {
    truth = *number == 1;
  } else {
    v.Fail("\"" + std::string(key) + "\" is not true or false", "json.field");
  }
}

void Add(FieldVisitor& v, int64_t amount, int64_t most, int64_t& sum, const char* of) {
  if (!v.reads()) return;
  const std::optional<int64_t> total = CheckedAdd(sum, amount);
  if (!total || *total > most) {
    return v.Fail(std::string(of) + " of the file add up to more than " + std::to_string(most));
  }
  sum = *total;
}

void NodeFields(FieldVisitor& v, WorkloadOperator& op, WorkloadFile& file) {
  v.Closed();
  int64_t id = 0;
  v.Field("id", id, "any number, used once");
  if (v.reads() && !file.by_id.emplace(id, file.operators.size()).second) {
    v.Fail("id " + std::to_string(id) + " was used before");
  }
  op.name = "node " + std::to_string(id);
  v.Field("name", op.name, FieldNote("for people").Optional());
  if (v.reads() && op.name.size() > file.limits.name_bytes) {
    v.Fail("the name has " + std::to_string(op.name.size()) + " bytes");
  }
  Milliseconds(v, "cpuLatency", op.cpu_ns, "milliseconds: the node's time on a core");
  Milliseconds(v, "fpgaLatency", op.accelerator_ns, "milliseconds: its time on an accelerator");
  Truth(v, "supportedOnFpga", op.on_accelerator,
        "`true` or 1; else the node runs on cores alone and has no candidates elsewhere");
  Bytes(v, "size", op.bytes,
        "bytes the node takes on an accelerator, weights and results: what it keeps there, whatever runs when");
  Add(v, op.cpu_ns, kMostNs, file.all_ns, "the times");
  Add(v, op.accelerator_ns, kMostNs, file.all_ns, "the times");
  Add(v, op.bytes, kMostBytes, file.all_bytes, "the sizes");
  Truth(v, "isBackwardNode", op.is_backward,
        FieldNote("`true` or 1: a gradient, a node like any other, and shown").Optional());
  v.Field("colorClass", op.color, FieldNote("nodes of one number run on one device; absent: free").Optional());
  Json layer;
  v.Field("layerId", layer, FieldNote("not used").ForPeople());
}

size_t End(FieldVisitor& v, const char* key, const WorkloadFile& file, const char* meaning) {
  int64_t id = 0;
  v.Field(key, id, meaning);
  const auto found = file.by_id.find(id);
  if (found != file.by_id.end()) return found->second;
  if (v.reads()) v.Fail("\"" + std::string(key) + "\" is " + std::to_string(id) + ", which no node has as its id");
  return 0;
}

void EdgeFields(FieldVisitor& v, WorkloadFile& file) {
  v.Closed();
  const size_t from = End(v, "sourceId", file, "a node by its `id`");
  const size_t to = End(v, "destId", file, "a node that needs the source's output");
  int64_t move_ns = 0;
  Milliseconds(
      v, "cost", move_ns,
      "milliseconds to move that output between an accelerator and the memory of the CPU, the same on all edges "
      "out of a node: a value of that many bytes as nanoseconds, over links of one byte a nanosecond; from "
      "accelerator to accelerator it goes by way of the host");
  Json size;
  v.Field("size", size, FieldNote("not used: the cost says what moving takes").ForPeople());
  if (!v.reads()) return;
  if (!file.edges.emplace(from, to).second) return v.Fail("repeats an edge");
  std::optional<int64_t>& known = file.operators[from].move_ns;
  if (known && *known != move_ns) {
    return v.Fail("\"cost\" is " + std::to_string(move_ns) + " ns, but another edge out of the same node has " +
                      std::to_string(*known) + " ns",
                  {}, ErrorCode::kInvalidInput, "a node has one output, which takes the same time whoever reads it");
  }
  if (!known) Add(v, move_ns, kMostNs, file.all_ns, "the times");
  known = move_ns;
  file.operators[to].makers.push_back(from);
}

}  // namespace

void Fields(FieldVisitor& v, WorkloadFile& file) {
  v.Closed();
  v.Field("maxFPGAs", file.accelerators,
          FieldNote("accelerators, 0 to 256: devices `acc:0`, … of one unit each, a link each way with a copy engine")
              .Within(kAccelerators));
  v.Field("maxCPUs", file.cores, FieldNote("cores, 1 to 256: units `cpu[0]`, … of class `cpu/1`").Within(kCores));
  Bytes(v, "maxSizePerFPGA", file.accelerator_bytes,
        "bytes that an accelerator holds: a cap on what its nodes keep there");
  const std::optional<size_t> nodes = v.CountOf("nodes", 0);
  const auto refuse_count = [&] {
    v.Fail(std::to_string(*nodes) + " nodes; 1 to " + std::to_string(file.limits.nodes) + " are allowed");
  };
  if (v.reads() && nodes && *nodes > file.limits.nodes) refuse_count();
  v.Objects("nodes", file.operators, "the operators", [&](WorkloadOperator& op, size_t) { NodeFields(v, op, file); });
  if (v.reads() && *nodes == 0) refuse_count();
  std::vector<Json> edges;
  v.Objects("edges", edges, "who reads whose output", [&](Json&, size_t) { EdgeFields(v, file); });
}

Result<WorkloadFile> ReadWorkloadFile(const Json& json, const Limits& limits) {
  WorkloadFile file;
  file.limits = limits;
  PT_CHECK_OK(ReadFields(json, {"the workload", "", "workload.invalid"}, file));
  return file;
}

}  // namespace pt
