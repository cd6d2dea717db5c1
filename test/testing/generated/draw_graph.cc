#include "test/testing/generated/draw_graph.h"

#include "test/testing/generated/families.h"
#include "test/testing/generated/prepared_case.h"

namespace pt::testing {
namespace {

const std::vector<DrawnFamily>& Families() {
  static const std::vector<DrawnFamily> families = {
      ElementwiseFamily(), BroadcastFamily(),     CastFamily(),  ReductionFamily(), SelectionFamily(),
      MovementFamily(),    SliceFamily(),         IndexFamily(), PoolFamily(),      ConvolutionFamily(),
      ProductFamily(),     NormalizationFamily(), ImageFamily(), RecurrentFamily(), QuantisedFamily(),
      PatternFamily(),     ClassicalFamily(),
  };
  return families;
}

const DrawnFamily& AnyFamily(Drawing& d) {
  int all = 0;
  for (const DrawnFamily& family : Families()) all += family.weight;
  int64_t at = d.Between(0, all - 1);
  for (const DrawnFamily& family : Families()) {
    if ((at -= family.weight) < 0) return family;
  }
  return Families().back();
}

void DrawNodes(Drawing& d) {
  std::vector<const DrawnFamily*> families;
  for (int64_t i = d.Between(1, 5); i > 0; --i) families.push_back(&AnyFamily(d));
  const int64_t rounds = d.Between(1, 10);
  constexpr size_t kMostNodes = 24;
  for (int64_t i = 0; i < rounds && d.nodes() < kMostNodes; ++i) {
    const DrawnFamily& family = *d.OneOf(families);
    d.OneOf(family.rows).draw(d);
  }
}

}  // namespace

DrawnGraph DrawGraph(uint64_t seed) {
  for (uint64_t attempt = 0;; ++attempt) {
    Drawing drawing(SplitMix(seed) + attempt);
    DrawNodes(drawing);
    if (!drawing.refused().empty()) return {"", drawing.refused()};
    if (drawing.nodes() == 0) continue;
    const std::string text = WithSteadyOutputs(drawing.Text());
    if (!text.empty()) return {text, ""};
  }
}

}  // namespace pt::testing
