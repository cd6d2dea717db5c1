// Loads a network, runs it once on zeros and prints what comes out.
#include <partitiontuner/partitiontuner.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto fail = [](const pt::Error& e) { return std::fprintf(stderr, "%s\n", pt::ToString(e).c_str()), 1; };
  auto engine = pt::Engine::Make({.machine = {}, .db_path = "none"});
  if (!engine) return fail(engine.error());
  auto model = (*engine)->Load(argv[1], {});
  if (!model) return fail(model.error());
  auto plan = (*engine)->MakeDefaultPlan(**model);
  if (!plan) return fail(plan.error());
  auto session = (*engine)->MakeSession(**model, *plan);
  if (!session) return fail(session.error());
  std::vector<float> image(1 * 3 * 96 * 96), scores(10);
  const pt::LentTensor input{pt::DataType::kFloat32, {1, 3, 96, 96}, image.data(), image.size() * sizeof(float)};
  const pt::LentTensor output{pt::DataType::kFloat32, {1, 10}, scores.data(), scores.size() * sizeof(float)};
  auto report = (*session)->Run({&input, 1}, {&output, 1});
  if (!report) return fail(report.error());
  for (const float score : scores) std::printf("%g\n", static_cast<double>(score));
}
