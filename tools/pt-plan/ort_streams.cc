#include "tools/pt-plan/ort_streams.h"

#include <algorithm>
#include <map>
#include <optional>

#include "partitiontuner/plan/step_text.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

// ONNX Runtime's numbers of device types.
constexpr std::pair<std::string_view, const char*> kDeviceNumbers[] = {{"cpu", "0"}, {"cuda", "1"}};

// One for each unit; for all units of the host with the same leading core the same.
using StreamKey = std::pair<DeviceId, uint32_t>;

StreamKey KeyOf(const Platform& platform, UnitId unit) {
  const DeviceId device = platform.device_of(unit);
  if (!IsHost(device)) return {device, static_cast<uint32_t>(unit.index())};
  uint32_t first = UINT32_MAX;
  for (const auto& [resource, share] : platform.unit(unit).uses) {
    first = std::min(first, platform.resources[resource.index()].core.value_or(UINT32_MAX));
  }
  return {device, first};
}

class Assignment {
 public:
  Assignment(const Graph& file, const Graph& planned, const Platform& platform, const Plan& plan)
      : file_(file), streams_(file.nodes().size()) {
    std::map<uint32_t, StreamKey> of_source;  // by the node's number in the file
    for (const Step& step : plan.steps) {
      const auto* run = std::get_if<RunGroup>(&step.work);
      if (run == nullptr) continue;
      for (const NodeId node : plan.candidates[run->candidate.index()].nodes) {
        for (const Source& source : planned.node(node).source) {
          if (source.subgraph.empty()) of_source.emplace(source.index, KeyOf(platform, step.unit));
        }
      }
    }
    for (size_t i = 0; i < streams_.size(); ++i) {
      for (const Source& source : file.nodes()[i].source) {
        const auto found = of_source.find(source.index);
        if (!streams_[i] && found != of_source.end()) streams_[i] = found->second;
      }
    }
    FollowReaders();
    FollowMakers();
  }

  // Of the file's nodes; not set where nothing of the plan is near.
  const std::vector<std::optional<StreamKey>>& streams() const { return streams_; }

 private:
  void FollowReaders() {
    for (size_t i = streams_.size(); i-- > 0;) {
      for (const ValueId output : file_.nodes()[i].outputs) {
        if (!output.valid()) continue;
        for (const Use& use : file_.value(output).uses) {
          if (!streams_[i]) streams_[i] = streams_[use.node.index()];
        }
      }
    }
  }
  void FollowMakers() {
    for (size_t i = 0; i < streams_.size(); ++i) {
      for (const ValueId input : file_.nodes()[i].inputs) {
        if (streams_[i] || !input.valid() || !file_.value(input).producer.valid()) continue;
        streams_[i] = streams_[file_.value(input).producer.index()];
      }
    }
  }

  const Graph& file_;
  std::vector<std::optional<StreamKey>> streams_;
};

Error Refused(const char* id, std::string message, const char* hint) {
  return MakeError(ErrorCode::kUnsupported, id, "ONNX Runtime's streams: " + std::move(message), hint);
}

Result<const char*> NumberOf(const Device& device) {
  for (const auto& [kind, number] : kDeviceNumbers) {
    if (device.kind == kind && !device.simulated) return number;
  }
  return Refused("ort_streams.device", "it has no number for the device " + device.name + " (" + device.kind + ")",
                 "plan for the devices that it has, with --devices");
}

}  // namespace

Result<Json> OrtStreams(const Graph& file, const Graph& planned, const Platform& platform, const Plan& plan) {
  const Assignment assignment(file, planned, platform, plan);
  std::map<StreamKey, std::vector<std::string>> names;
  std::map<std::string, StreamKey> stream_of;
  for (size_t i = 0; i < file.nodes().size(); ++i) {
    const Node& node = file.nodes()[i];
    if (node.name.empty()) {
      return Refused("ort_streams.name",
                     "the node " + NodeLabel(file, NodeId(i)) + " has no name, and names are all that " +
                         "its file knows nodes by",
                     "write the model with a name for every node");
    }
    const StreamKey key = assignment.streams()[i].value_or(StreamKey{kHostDevice, 0});
    const auto [at, added] = stream_of.emplace(node.name, key);
    if (at->second != key) {
      return Refused("ort_streams.name", "two nodes are called \"" + node.name + "\", and run on different streams",
                     "write the model with a name of its own for every node");
    }
    if (added) names[key].push_back(node.name);
  }
  Json streams = Json::MakeArray(), devices = Json::MakeArray();
  for (const auto& [key, of_stream] : names) {
    PT_ASSIGN(const char* const number, NumberOf(platform.device(key.first)));
    Json stream = Json::MakeArray();
    for (const std::string& name : of_stream) stream.Push(name);
    streams.Push(std::move(stream));
    devices.Push(number);
  }
  Json json = Json::MakeObject();
  json.Set("type", "DeviceBasedPartitioner");
  json.Set("streams", std::move(streams));
  json.Set("devices", std::move(devices));
  return json;
}

Result<int> ExportOrtStreams(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  PT_ASSIGN(const Plan plan, MakeOrLoadPlan(setup, flags, console));
  PT_ASSIGN(const ModelOptions options, ModelOptionsOf(flags.common));
  PT_ASSIGN(const auto file, OpenModel(flags.common.model(), options.load));
  const Platform& platform = setup.engine->machine().platform();
  PT_ASSIGN(const Json json, OrtStreams(*file->graph, *setup.model->graph, platform, plan));
  PT_CHECK_OK(WriteTo(flags.output, WriteJson(json) + "\n"));
  if (flags.output != "-") {
    console.Note(std::to_string(json.find("streams")->as_array()->size()) + " streams of ONNX Runtime written to " +
                 flags.output);
  }
  return 0;
}

}  // namespace pt::tools
