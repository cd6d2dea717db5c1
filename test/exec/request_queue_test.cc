// Requests that wait for a session, and those that are refused.
#include "partitiontuner/exec/request_queue.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "test/exec/session_setting.h"

namespace pt::testing::request_queue_test {
namespace {

// A request with buffers of its own.
struct Request {
  Request(const Graph& graph, float start)
      : inputs(MakeBuffers(graph, graph.inputs(), start)),
        outputs(MakeBuffers(graph, graph.outputs(), -1000)),
        expected(Interpret(graph, inputs)) {}
  bool IsRight() const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].data != expected[i]) return false;
    }
    return true;
  }
  std::vector<Buffer> inputs, outputs;
  std::vector<std::vector<float>> expected;
};

// Two cores, and a graph whose runs hold until setting.control.release.
struct Held : Setting {
  explicit Held(const SessionOptions& options = {.alone = AloneRuns::kAlways}) : Setting(2, false) {
    graph = Diamond("hold=1");
    const UnitId one = FindUnit(machine->platform(), "cpu[0]"), two = FindUnit(machine->platform(), "cpu[1]");
    session = Create(MakeTestPlan(*graph, *machine, {one, one, two, one}), options);
  }
  void WaitUntilHeld(uint32_t runs) const {
    while (control.holding.load() < static_cast<int>(runs)) std::this_thread::yield();
  }
  std::unique_ptr<Session> session;
};

std::unique_ptr<RequestQueue> QueueOf(Session& session, const RequestQueueOptions& options = {}) {
  auto queue = RequestQueue::Make(session, options);
  if (!queue.ok()) FAIL(ToString(queue.error()));
  return std::move(queue).value();
}

using Answer = std::future<Result<RequestReport>>;
Answer Submit(RequestQueue& queue, Request& request, const RunOptions& options = {}) {
  auto answer = queue.Submit(Lend(request.inputs), Lend(request.outputs), options);
  if (!answer.ok()) FAIL(ToString(answer.error()));
  return std::move(answer).value();
}

}  // namespace

TEST_CASE("RequestQueue, AnswersAreThoseOfRuns", "[exec]") {
  const uint32_t in_flight = GENERATE(0u, 1u, 3u);
  const AloneRuns alone = GENERATE(AloneRuns::kNever, AloneRuns::kAlways);
  CAPTURE(in_flight, alone);
  Held held({.alone = alone});
  held.control.release.store(true);
  const auto queue = QueueOf(*held.session, {.in_flight = in_flight, .waiting = 100});
  CHECK(queue->in_flight_limit() == (in_flight == 0 ? 2 : in_flight));
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<Answer> answers;
  for (int i = 0; i < 100; ++i) {
    requests.push_back(std::make_unique<Request>(*held.graph, static_cast<float>(i)));
    answers.push_back(Submit(*queue, *requests.back()));
  }
  for (int i = 0; i < 100; ++i) {
    const Result<RequestReport> report = answers[static_cast<size_t>(i)].get();
    REQUIRE(report.ok());
    CHECK(requests[static_cast<size_t>(i)]->IsRight());
    CHECK(report->waited_ns >= 0);
    CHECK(report->total_ns >= report->waited_ns + report->run.wall_ns);
  }
  queue->Drain();
  const RequestCounts counts = queue->counts();
  CHECK(counts.accepted == 100);
  CHECK(counts.succeeded == 100);
  CHECK(counts.failed + counts.refused + counts.waiting + counts.in_flight == 0);
}

TEST_CASE("RequestQueue, OneMoreThanMayWaitIsRefusedUntilThereIsRoom", "[exec]") {
  const uint32_t waiting = GENERATE(0u, 1u, 3u);
  CAPTURE(waiting);
  Held held;
  const auto queue = QueueOf(*held.session, {.waiting = waiting});
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<Answer> answers;
  // Refused or not does not depend on whether the threads have taken the first ones yet.
  for (uint32_t i = 0; i < 2 + waiting; ++i) {
    requests.push_back(std::make_unique<Request>(*held.graph, static_cast<float>(i)));
    answers.push_back(Submit(*queue, *requests.back()));
  }
  Request late(*held.graph, 50);
  for (int i = 0; i < 3; ++i) {
    const auto refused = queue->Submit(Lend(late.inputs), Lend(late.outputs));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kRunFailed);
    CHECK(refused.error().id == "queue.full");
  }
  held.WaitUntilHeld(2);
  CHECK(queue->counts().in_flight == 2);
  CHECK(queue->counts().waiting == waiting);
  CHECK(queue->counts().refused == 3);
  held.control.release.store(true);
  for (Answer& answer : answers) CHECK(answer.get().ok());
  queue->Drain();
  CHECK(Submit(*queue, late).get().ok());
  CHECK(late.IsRight());
}

TEST_CASE("RequestQueue, RequestsBeginInTheOrderInWhichTheyCame", "[exec]") {
  Held held;
  const auto queue = QueueOf(*held.session, {.in_flight = 1});
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<int> order;  // written by the queue's one thread
  for (int i = 0; i < 20; ++i) {
    requests.push_back(std::make_unique<Request>(*held.graph, static_cast<float>(i)));
    Request& request = *requests.back();
    REQUIRE(queue
                ->Submit(Lend(request.inputs), Lend(request.outputs), {},
                         [&order, i](Result<RequestReport> report) { order.push_back(report.ok() ? i : -1); })
                .ok());
  }
  held.control.release.store(true);
  queue->Drain();
  REQUIRE(order.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(order[static_cast<size_t>(i)] == i);
}

TEST_CASE("RequestQueue, DeadlinesAndTokensCountWhileARequestWaits", "[exec]") {
  Held held;
  const auto queue = QueueOf(*held.session, {.in_flight = 1});
  Request first(*held.graph, 0), late(*held.graph, 1), cancelled(*held.graph, 2), patient(*held.graph, 3);
  Answer ran = Submit(*queue, first);
  held.WaitUntilHeld(1);
  CancelToken cancel;
  Answer too_late = Submit(*queue, late, {.deadline = std::chrono::nanoseconds(1)});
  Answer stopped = Submit(*queue, cancelled, {.cancel = &cancel});
  Answer in_time = Submit(*queue, patient, {.deadline = std::chrono::hours(1)});
  cancel.Cancel();
  held.control.release.store(true);
  CHECK(ran.get().ok());
  const auto late_report = too_late.get(), stopped_report = stopped.get();
  REQUIRE_FALSE(late_report.ok());
  CHECK(late_report.error().id == "run.deadline");
  REQUIRE_FALSE(stopped_report.ok());
  CHECK(stopped_report.error().id == "run.cancelled");
  CHECK(in_time.get().ok());
  CHECK(patient.IsRight());
  queue->Drain();
  CHECK(queue->counts().failed == 2);
  CHECK(held.control.enqueued.load() == 8);  // neither of them began
}

TEST_CASE("RequestQueue, ClosingEndsWhatWaitsAndLetsRunsEnd", "[exec]") {
  const bool destroyed = GENERATE(false, true);
  CAPTURE(destroyed);
  Held held;
  auto queue = QueueOf(*held.session);
  Request one(*held.graph, 0), two(*held.graph, 1), three(*held.graph, 2);
  Answer first = Submit(*queue, one), second = Submit(*queue, two), third = Submit(*queue, three);
  held.WaitUntilHeld(2);
  queue->Close();
  const auto refused = queue->Submit(Lend(three.inputs), Lend(three.outputs));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "queue.closed");
  held.control.release.store(true);
  if (destroyed) queue.reset();
  CHECK(first.get().ok());
  CHECK(second.get().ok());
  const auto closed = third.get();
  REQUIRE_FALSE(closed.ok());
  CHECK(closed.error().id == "queue.closed");
  CHECK(one.IsRight());
  CHECK(two.IsRight());
}

TEST_CASE("RequestQueue, AnErrorIsItsRequestsAlone", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const UnitId both = FindUnit(setting.machine->platform(), "cpu[0-1]");
  const auto session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, std::vector<UnitId>(4, both)));
  const auto queue = QueueOf(*session);
  Request good(*setting.graph, 0), bad(*setting.graph, 1), after(*setting.graph, 2);
  bad.inputs[0].data.pop_back();
  Answer first = Submit(*queue, good), wrong = Submit(*queue, bad), last = Submit(*queue, after);
  CHECK(first.get().ok());
  const auto report = wrong.get();
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().id == "run.tensor");
  CHECK(last.get().ok());
  CHECK(after.IsRight());
}

TEST_CASE("RequestQueue, ADoneMaySubmitTheNextRequest", "[exec]") {
  Held held;
  held.control.release.store(true);
  const auto queue = QueueOf(*held.session, {.in_flight = GENERATE(1u, 2u), .waiting = 0});
  Request request(*held.graph, 7);
  std::atomic<int> runs{0};
  std::promise<void> over;
  std::function<void(Result<RequestReport>)> next = [&](const Result<RequestReport>& report) {
    if (!report.ok() || ++runs == 50) return over.set_value();
    if (!queue->Submit(Lend(request.inputs), Lend(request.outputs), {}, next).ok()) over.set_value();
  };
  REQUIRE(queue->Submit(Lend(request.inputs), Lend(request.outputs), {}, next).ok());
  over.get_future().wait();
  CHECK(runs.load() == 50);
  CHECK(request.IsRight());
}

TEST_CASE("RequestQueue, ManySubmitReplaceAndCancelAtOnce", "[exec]") {
  Setting setting(4, false);
  setting.graph = Diamond();
  const Platform& platform = setting.machine->platform();
  const auto plan = [&](const char* a, const char* b) {
    const UnitId one = FindUnit(platform, a), two = FindUnit(platform, b);
    return MakeTestPlan(*setting.graph, *setting.machine, {one, one, two, one});
  };
  const Plan plans[] = {plan("cpu[0]", "cpu[1]"), plan("cpu[0-3]", "cpu[2]"), plan("cpu[3]", "cpu[3]")};
  const auto session = setting.Create(plans[0]);
  const auto queue = QueueOf(*session, {.in_flight = 3, .waiting = 5});
  std::atomic<int> wrong{0}, right{0}, refused{0}, ended{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        Request request(*setting.graph, static_cast<float>(t * 100 + i));
        CancelToken cancel;
        auto answer = queue->Submit(Lend(request.inputs), Lend(request.outputs), {.cancel = &cancel});
        if (!answer.ok()) {
          ++(answer.error().id == "queue.full" ? refused : wrong);
          std::this_thread::yield();
          continue;
        }
        if (i % 7 == 0) cancel.Cancel();
        const auto report = answer->get();
        if (report.ok()) {
          ++(request.IsRight() ? right : wrong);
        } else {
          ++(report.error().id == "run.cancelled" && i % 7 == 0 ? ended : wrong);
        }
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    if (!session->Replace(plans[i % 3]).ok()) ++wrong;
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  queue->Drain();
  CHECK(wrong.load() == 0);
  CHECK(right.load() + refused.load() + ended.load() == 400);
  const RequestCounts counts = queue->counts();
  CHECK(counts.succeeded == static_cast<uint64_t>(right.load()));
  CHECK(counts.refused == static_cast<uint64_t>(refused.load()));
  CHECK(counts.failed == static_cast<uint64_t>(ended.load()));
}

TEST_CASE("RequestQueue, MoreThanTheSessionAllowsIsRefused", "[exec]") {
  Held held;
  const auto too_many_runs = RequestQueue::Make(*held.session, {.in_flight = 5});
  REQUIRE_FALSE(too_many_runs.ok());
  CHECK(too_many_runs.error().id == "queue.in_flight");
  const auto too_many_waiting = RequestQueue::Make(*held.session, {.waiting = 4'000'000'000u});
  REQUIRE_FALSE(too_many_waiting.ok());
  CHECK(too_many_waiting.error().id == "queue.waiting");
}

}  // namespace pt::testing::request_queue_test
