// What io_faults_test.cc runs while system calls fail:
//   file PATH BYTES         a file of that many 'n', replaced as a whole
//   model PATH VALUE        a model whose weights, in a file of their own, all have that value
//   database PATH FIRST N   measurements of these numbers, one after another
// Says "done" or "done NUMBER" after each that is said to be stored, and on standard error why one is not; then it ends
// with the code of the error.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/save_onnx.h"
#include "partitiontuner/support/file.h"

namespace {

int Fail(const pt::Error& error) {
  std::fprintf(stderr, "%s\n", ToString(error).c_str());
  return static_cast<int>(error.code);
}

void Say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

pt::Measurement MeasurementOf(const pt::MeasurementKey& key, int number) {
  pt::Measurement measurement;
  measurement.key_text = key.text;
  measurement.median_ns = 1000 + number;
  measurement.samples = 1;
  measurement.family = "Relu";
  return measurement;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string what = argv[1], path = argv[2];
  const int first = std::atoi(argv[3]);
  if (what == "file") {
    const pt::Status status = pt::WriteFileAtomically(path, std::string(static_cast<size_t>(first), 'n'));
    if (!status.ok()) return Fail(status.error());
    Say("done");
    return 0;
  }
  if (what == "model") {
    const std::string text = "input x float32[500]\nconst w float32[500] value " + std::string(argv[3]) +
                             "\ny = Add(x, w) : float32[500]\noutput y\n";
    const pt::Result<pt::Graph> graph = pt::ParseGraph(text);
    if (!graph.ok()) return Fail(graph.error());
    pt::SaveOptions options;
    options.external_from = 1;
    const pt::Status status = pt::SaveOnnx(*graph, path, options);
    if (!status.ok()) return Fail(status.error());
    Say("done");
    return 0;
  }
  if (argc < 5) return 2;
  pt::Result<pt::ProfileDb> db = pt::ProfileDb::Open(path);
  if (!db.ok()) return Fail(db.error());
  for (int number = first; number < first + std::atoi(argv[4]); ++number) {
    const std::string text = "run Relu | number " + std::to_string(number);
    const pt::MeasurementKey key{text, pt::HashText(text)};
    const pt::Status status = db->Put(key, MeasurementOf(key, number));
    if (!status.ok()) return Fail(status.error());
    Say("done " + std::to_string(number));
  }
  return 0;
}
