// Requests that bring their tensors along.
#include "partitiontuner/engine/submit_tensors.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/host_lab.h"

namespace pt::testing::submit_tensors_test {

TEST_CASE("SubmitTensors, EveryRequestGetsTheTensorsOfARunByItself", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x float32[4]\ns = Add(x, x)\ny = Relu(s)\noutput y\noutput s\n"), 1);
  const auto queue = RequestQueue::Make(*session, {.waiting = 50}).value();
  std::vector<std::future<Result<std::vector<Tensor>>>> answers;
  const auto input = [](int i) {
    const auto v = static_cast<float>(i);
    return std::vector<Tensor>{Tensor::Float32({4}, {v, -v, 2 * v, 3})};
  };
  for (int i = 0; i < 50; ++i) {
    auto answer = SubmitTensors(*queue, input(i));  // the input goes at once
    REQUIRE(answer.ok());
    answers.push_back(std::move(answer).value());
  }
  for (int i = 0; i < 50; ++i) {
    const Result<std::vector<Tensor>> outputs = answers[static_cast<size_t>(i)].get();
    REQUIRE(outputs.ok());
    CHECK(std::ranges::equal(*outputs, RunTensors(*session, input(i)).value(), SameBits));
  }
}

TEST_CASE("SubmitTensors, WhatDoesNotFitTheModelIsRefusedAtOnceAndARunsErrorLater", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x float32[4]\ninput i int64[1]\ny = Gather(x, i)\noutput y\n"), 1);
  const auto queue = RequestQueue::Make(*session).value();
  const Tensor x = Tensor::Float32({4}, {1, 2, 3, 4});
  const auto submit = [&](const std::vector<Tensor>& inputs) { return SubmitTensors(*queue, inputs); };
  CHECK(submit({x}).error().code == ErrorCode::kInvalidInput);
  CHECK(submit({Tensor::Float32({2}, {1, 2}), Tensor::Int64({1}, {0})}).error().code == ErrorCode::kInvalidInput);
  auto beyond = submit({x, Tensor::Int64({1}, {4})});
  REQUIRE(beyond.ok());
  CHECK(beyond->get().error().code == ErrorCode::kInvalidInput);
  auto within = submit({x, Tensor::Int64({1}, {3})});
  REQUIRE(within.ok());
  CHECK(within->get().value().at(0).values<float>()[0] == 4);
  queue->Close();
  CHECK(submit({x, Tensor::Int64({1}, {3})}).error().id == "queue.closed");
}

}  // namespace pt::testing::submit_tensors_test
