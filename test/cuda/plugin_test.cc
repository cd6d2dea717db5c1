// The plugin as it is built, found where the tools look for it.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/exec/machine.h"

namespace pt::testing::plugin_test {

TEST_CASE("CudaPlugin, IsUsedOrSaysWhyNot", "[cuda]") {
  MachineOptions options;
  options.max_cores = 1;
  options.plugin_paths = {std::string(PT_BINARY_DIR) + "/lib/partitiontuner/plugins"};
  const auto machine = Machine::Make(options);
  REQUIRE(machine.ok());
  REQUIRE((*machine)->plugins().size() == 1);
  const PluginReport& report = (*machine)->plugins()[0];
  CHECK(report.name == "cuda");
  options.plugins = {"cuda"};
  const auto named = Machine::Make(options);
  if (report.refused.empty()) {
    REQUIRE(named.ok());
    CHECK(FindDevice((*named)->platform(), "cuda:0").valid());
    CHECK((*named)->library("cuda") != nullptr);
    CHECK((*named)->library("cublaslt") != nullptr);
  } else {
    REQUIRE_FALSE(named.ok());
    CHECK(named.error().code == ErrorCode::kDeviceUnusable);
    CHECK(named.error().device == "cuda");
    CHECK(named.error().message.find(report.refused) != std::string::npos);
  }
}

}  // namespace pt::testing::plugin_test
