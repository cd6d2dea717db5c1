// RequestQueue: requests on arrays, whose answers are told by a callback.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <utility>

#include "errors.h"
#include "handles.h"
#include "named_values.h"

namespace nb = nanobind;

namespace pt::python {
namespace {

// Used with the GIL held, which orders calls. `close` must have been called when it goes: threads of the queue call
// Python, and whoever waits for them must have let go of the GIL.
struct QueueHandle {
  SessionHandle session;
  std::shared_ptr<RequestQueue> queue;  // none once it is closed
  RequestCounts last;                   // of a queue that was closed
};

// Ends its request: before it begins, or between two steps.
struct TokenHandle {
  CancelToken token;
};

// Whether this thread is one of a queue's that is in Python, which must not wait for the queue.
thread_local bool tells_answer = false;

// The GIL, on a thread of a queue or on any other.
class InPython {
 public:
  InPython() : before_(std::exchange(tells_answer, true)) {}
  ~InPython() { tells_answer = before_; }
  InPython(const InPython&) = delete;
  InPython& operator=(const InPython&) = delete;

 private:
  const bool before_;
  const nb::gil_scoped_acquire gil_;
};

// A request until its answer was told. Made and destroyed with the GIL held.
struct Request {
  std::shared_ptr<Session> session;  // the graph that the values are of
  LentValues inputs, outputs;
  CancelToken token;
  nb::object done;

  void Tell(Result<RequestReport> report) const {
    if (!report.ok()) {
      done(nb::none(), nb::none(), AsException(report.error()));
      return;
    }
    try {
      const nb::dict results = OutputsByName(session->graph(), outputs, report->run);
      done(results, *std::move(report), nb::none());
    } catch (const Failure& failure) {
      done(nb::none(), nb::none(), AsException(failure.error));
    }
  }
};

std::shared_ptr<const Request> Share(Request request) {
  return {new Request(std::move(request)), [](const Request* held) {
            const InPython in_python;
            delete held;
          }};
}

QueueHandle MakeQueue(const SessionHandle& session, uint32_t in_flight, uint32_t waiting) {
  std::shared_ptr<RequestQueue> queue =
      Unwrap(RequestQueue::Make(*session.session, {.in_flight = in_flight, .waiting = waiting}));
  return {session, std::move(queue), {}};
}

// done(outputs, report, error) is called once on a thread of the queue unless this throws.
TokenHandle Submit(const QueueHandle& self, const nb::dict& inputs, std::optional<double> deadline_s, nb::object done) {
  const std::shared_ptr<RequestQueue> queue = self.queue;
  if (queue == nullptr) Fail(ErrorCode::kRunFailed, "queue.closed", "the request queue was closed");
  const Graph& graph = self.session.session->graph();
  const auto request = Share({self.session.session, LendInputs(graph, inputs, LentValues::Inputs::kCopied),
                              LendOutputs(graph, nb::dict()), CancelToken(), std::move(done)});
  Unwrap(queue->Submit(request->inputs.tensors(), request->outputs.tensors(),
                       {.deadline = DeadlineOf(deadline_s), .cancel = &request->token},
                       [request](Result<RequestReport> report) {
                         const InPython in_python;
                         try {
                           request->Tell(std::move(report));
                         } catch (nb::python_error& error) {
                           error.discard_as_unraisable("the answer of a request");
                         }
                       }));
  return {request->token};
}

void Drain(const QueueHandle& self) {
  const std::shared_ptr<RequestQueue> queue = self.queue;
  const nb::gil_scoped_release release;
  if (queue != nullptr) queue->Drain();
}

// What waits ends with queue.closed; returns when what is in flight is over and the threads have ended.
void Close(QueueHandle& self) {
  std::shared_ptr<RequestQueue> queue = std::exchange(self.queue, nullptr);
  if (queue == nullptr) return;
  const nb::gil_scoped_release release;
  queue->Close();
  queue->Drain();
  self.last = queue->counts();
  queue.reset();
}

RequestCounts Counts(const QueueHandle& self) { return self.queue != nullptr ? self.queue->counts() : self.last; }

}  // namespace

void BindQueues(nb::module_& module) {
  nb::class_<RequestReport>(module, "RequestReport", "What one request took.")
      .def_ro("run", &RequestReport::run)
      .def_ro("waited_ns", &RequestReport::waited_ns)
      .def_ro("total_ns", &RequestReport::total_ns);
  nb::class_<RequestCounts>(module, "RequestCounts", "What became of a queue's requests so far.")
      .def_ro("accepted", &RequestCounts::accepted)
      .def_ro("refused", &RequestCounts::refused)
      .def_ro("succeeded", &RequestCounts::succeeded)
      .def_ro("failed", &RequestCounts::failed)
      .def_ro("waiting", &RequestCounts::waiting)
      .def_ro("in_flight", &RequestCounts::in_flight);
  nb::class_<TokenHandle>(module, "CancelToken").def("cancel", [](const TokenHandle& self) {
    CancelToken(self.token).Cancel();
  });
  nb::class_<QueueHandle>(module, "RequestQueue")
      .def("submit", &Submit, nb::arg("inputs"), nb::arg("deadline").none(), nb::arg("done"))
      .def("drain", &Drain)
      .def("close", &Close)
      .def_prop_ro("counts", &Counts);
  module.def("tells_answer", [] { return tells_answer; });
  module.def("make_queue", &MakeQueue, nb::arg("session"), nb::arg("in_flight"), nb::arg("waiting"));
}

}  // namespace pt::python
