// What the benchmarks of plugins' seams share: a trivial group, and the time of a call of it through a library.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::bench {

// What the result holds; prints the error and ends the program where it holds one.
[[noreturn]] void Die(const Error& error);
template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) Die(result.error());
  return std::move(result).value();
}
inline void Must(const Status& status) {
  if (!status.ok()) Die(status.error());
}

// Nanoseconds: the median of rounds, each the mean of its calls.
double NsPerCall(const std::function<void()>& call);

// A line of the table.
void Print(const char* what, double ns);

// A Relu of float32[elements] with memory for both sides.
class TrivialGroup {
 public:
  explicit TrivialGroup(int64_t elements);

  const Graph& graph() const { return graph_; }
  std::vector<float>& x() { return x_; }
  std::vector<float>& y() { return y_; }
  void PrintHead() const;

  // Of the library's kernel on one core of the host.
  double OnHost(const Library& library, const Platform& platform);
  // Of the library's kernel on that device, whose driver it is: enqueued, recorded, polled until it is over.
  double OnDevice(const Library& library, const Platform& platform, DeviceDriver& driver);

 private:
  using Call = std::function<void(BoundKernel&, const RunContext&)>;
  double OfKernel(const Library& library, const Platform& platform, DeviceDriver& driver, Stream& stream,
                  uint32_t cores, const Call& call);

  const int64_t elements_;
  std::vector<float> x_, y_;
  Graph graph_;
};

// The one argument, a number of elements; 16 without it. Ends the program where there is something else.
int64_t ElementsOf(int argc, char** argv, const char* program);

}  // namespace pt::bench
