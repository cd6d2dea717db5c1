// Which of a library's candidates is taken where nothing is measured: PlainestWay.
#include <catch2/catch_test_macros.hpp>

#include "lib/backend/computation.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::plainest_way_test {
namespace {

std::unique_ptr<Library> OnednnLibrary() {
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name == "onednn") return row.make();
  }
  SKIP("this build has no oneDNN");
  return nullptr;
}

TEST_CASE("PlainestWay, OfAsManyReordersTakesFormsThatChannelsFill", "[backend]") {
  const std::unique_ptr<Library> library = OnednnLibrary();
  const Platform platform = MakeTestPlatform(2, false);
  const auto way_of = [&](const std::string& text) {
    const Graph graph = TypedText(text);
    const NodeId node(0u);
    auto way =
        PlainestWay(graph, platform, *library, {&node, 1}, UnitClassId(0u), [](const Candidate&) { return true; });
    REQUIRE(way.has_value());
    const Result<TensorLayout> made =
        DenseLayout(way->out[0].storage, *graph.value(graph.outputs()[0]).type.static_dims(), way->out[0].layout);
    return BytesOf(made.value()).value();
  };
  CHECK(way_of("input x float32[1,16,300]\nconst w float32[16,8,8] random 1\n"
               "y = ConvTranspose(x, w) strides=[4] pads=[2,2]\noutput y\n") == uint64_t{8} * 1200 * 4);
  CHECK(way_of("input x float32[1,24,300]\nconst w float32[40,24,3] random 1\n"
               "y = Conv(x, w) pads=[1,1]\noutput y\n") == uint64_t{40} * 300 * 4);
}

}  // namespace
}  // namespace pt::testing::plainest_way_test
