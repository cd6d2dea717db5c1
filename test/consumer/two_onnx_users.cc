// One process, two ONNX: the application parses the model with its own onnx::ModelProto (default namespace, full
// runtime) before and after the library loads the same file with the one inside it. Fails if either sees the other.
#include <onnx/onnx-ml.pb.h>
#include <partitiontuner/partitiontuner.h>

#include <cstdio>
#include <fstream>

namespace {

int NodesSeenByTheApplication(const char* path) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  return model.ParseFromIstream(&in) ? model.graph().node_size() : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  GOOGLE_PROTOBUF_VERIFY_VERSION;
  const int before = NodesSeenByTheApplication(argv[1]);
  auto engine = pt::Engine::Make({.machine = {}, .db_path = "none"});
  if (!engine) return std::fprintf(stderr, "%s\n", pt::ToString(engine.error()).c_str()), 1;
  pt::ModelOptions options;
  options.keep_loaded = true;
  auto model = (*engine)->Load(argv[1], options);
  if (!model) return std::fprintf(stderr, "%s\n", pt::ToString(model.error()).c_str()), 1;
  const int after = NodesSeenByTheApplication(argv[1]);
  const bool has_descriptor = onnx::ModelProto::descriptor()->full_name() == "onnx.ModelProto";
  std::printf("application: %d nodes before, %d after; library: %zu nodes\n", before, after,
              (*model)->loaded->nodes().size());
  const bool agree = before > 0 && before == after && has_descriptor &&
                     (*model)->loaded->nodes().size() == static_cast<size_t>(before);
  google::protobuf::ShutdownProtobufLibrary();
  return agree ? 0 : 1;
}
