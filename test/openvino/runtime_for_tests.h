// OpenVINO for tests, which keep nothing on disk unless they say where.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "plugins/openvino/runtime.h"

namespace pt::openvino {

// A runtime lives as long as somebody holds it, so that each test has one with the folder that it asks for.
inline std::shared_ptr<Runtime> RuntimeForTests(const std::string& cache = "none") {
  setenv("PARTITIONTUNER_OPENVINO_CACHE", cache.c_str(), 1);
  auto runtime = Runtime::Get();
  if (!runtime.ok()) FAIL(ToString(runtime.error()));
  return std::move(runtime).value();
}

}  // namespace pt::openvino
