// DFT and STFT of the host library against the definition, which the reference library computes.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_fourier_test {
namespace {

std::string Number(int64_t n) { return std::to_string(n); }

TEST_CASE("HostDft, OfEveryLengthEqualsTheDefinition", "[host]") {
  std::vector<int64_t> lengths = {96, 121, 128, 169, 257, 400, 482, 512};
  for (int64_t n = 1; n <= 50; ++n) lengths.push_back(n);
  for (const int64_t n : lengths) {
    CheckText("input x float32[11," + Number(n) + ",1]\ny = DFT(x) onesided=1\noutput y\n", 1e-6);
    CheckText("input x float32[1," + Number(n) + ",2]\ny = DFT(x)\noutput y\n", 1e-6);
    CheckText("input x float32[3," + Number(n) + ",2]\ny = DFT(x) inverse=1\noutput y\n", 1e-6);
    if (n == 1) continue;  // no even length has one bin
    CheckText("input x float32[9," + Number(n) + ",2]\ny = DFT(x) onesided=1 inverse=1\noutput y\n", 1e-6);
  }
}

TEST_CASE("HostDft, AlongEveryAxisInBothDirectionsCutsAndPads", "[host]") {
  for (const char* axis : {"0", "1", "2", "-2", "-4"}) {
    for (const char* length : {"3", "7", "12"}) {
      for (const char* parts : {"1", "2"}) {
        for (const char* how : {"", " inverse=1", " onesided=1", " onesided=1 inverse=1"}) {
          const bool inverse = std::string(how).find("inverse") != std::string::npos;
          const bool onesided = std::string(how).find("onesided") != std::string::npos;
          if (onesided && (std::string(parts) == "2") != inverse) continue;
          const std::string head = "input x float32[5,6,7," + std::string(parts) + "]\nconst n int64[] ints " + length;
          CheckText(head + "\nconst a int64[] ints " + axis + "\ny = DFT(x, n, a)" + how + "\noutput y\n", 1e-6);
          CheckText("opset 19\n" + head + "\ny = DFT(x, n) axis=" + axis + how + "\noutput y\n", 1e-6);
        }
      }
    }
  }
  CheckText("opset 19\ninput x float32[2,8,1]\ny = DFT(x)\noutput y\n", 1e-6);
  CheckText("input x float32[1,3000,1]\ny = DFT(x) onesided=1\noutput y\n", 1e-6);
  CheckText("input x float32[0,8,1]\ny = DFT(x)\noutput y\n", 1e-6);
}

TEST_CASE("HostDft, LeavesToOthersWhatIsTooLongForItsMemory", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary();
  for (const bool fits : {true, false}) {
    const Graph graph = TypedText("input x float32[1,8,1]\nconst n int64[] ints " +
                                  std::string(fits ? "2097152" : "2097153") + "\ny = DFT(x, n)\noutput y\n");
    CHECK(host->WhyUnsupported(graph, NodeId(0u)).has_value() != fits);
  }
}

TEST_CASE("HostDft, OfALineThatIsNotFiniteLeavesItsNeighboursAlone", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(size_t{3} * 12, 1);
  x[13] = std::numeric_limits<float>::quiet_NaN();
  CheckAgainstReference(TypedText("input x float32[3,12,1]\ny = DFT(x)\noutput y\n"), {Tensor::Float32({3, 12, 1}, x)},
                        1e-6);
  const Graph graph = TypedText("input x float32[2,6,1]\ny = DFT(x)\noutput y\n");
  const Platform platform = MakeTestPlatform(1, false);
  const std::unique_ptr<Library> host = HostLibrary();
  const std::vector<Tensor> inputs = {Tensor::Float32({2, 6, 1}, {1, 2, kInfinity, 3, 4, 5, 1, 1, 1, 1, 1, 1})};
  const std::vector<Tensor> results = RunGraph(graph, platform, *host, inputs, 1).value();
  for (size_t i = 0; i < 24; ++i) {
    CHECK(std::isfinite(results[0].values<float>()[i]) == (i >= 12));
  }
}

TEST_CASE("HostStft, OfEveryStepWindowAndSignalEqualsTheDefinition", "[host]") {
  for (const char* signal : {"[1,65]", "[2,65,1]", "[3,64,2]"}) {
    for (const char* step : {"1", "5", "16", "70"}) {
      for (const char* frame : {"1", "8", "15", "64"}) {
        const bool complex = std::string(signal).ends_with(",2]");
        const std::string head = "input x float32" + std::string(signal) + "\nconst s int64[] ints " + step + "\n";
        const std::string length = "const l int64[] ints " + std::string(frame) + "\n";
        const std::string window = "input w float32[" + std::string(frame) + "]\n";
        for (const std::string& how : {std::string(" onesided=0"), std::string(complex ? " onesided=0" : "")}) {
          CheckText(head + length + "y = STFT(x, s, _, l)" + how + "\noutput y\n", 1e-6);
          CheckText(head + window + "y = STFT(x, s, w)" + how + "\noutput y\n", 1e-6);
          CheckText(head + window + length + "y = STFT(x, s, w, l)" + how + "\noutput y\n", 1e-6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pt::testing::host_fourier_test
