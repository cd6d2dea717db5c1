// Where every tensor of a run lies: in an arena, in the caller's buffers, or where the run finds memory. And which
// steps have nothing to do because of that.
#pragma once

#include <vector>

#include "lib/exec/program.h"
#include "partitiontuner/candidate/layout.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct TensorPlace {
  enum class Where : uint8_t {
    kArena,   // of `device`, at `offset`
    kInput,   // the caller's input `index`
    kOutput,  // the caller's output `index`
    kPool,    // in memory that is found in the run, since its size is known only then
    kStaged,  // host memory of the run state, from where output `index` is copied to the caller at the run's end
  };
  Where where = Where::kArena;
  uint32_t index = 0;
  DeviceId device;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool dynamic = false;  // a size known only at run time, or held as a Datum: layout has no dims, bytes is 0
  TensorLayout layout;
};

// How the caller gets an output.
struct OutputSource {
  enum class From : uint8_t {
    kDirect,    // a step writes it there
    kStaged,    // a device writes it to the run state's memory: it never holds the caller's
    kInput,     // copied from the caller's input `index`
    kOutput,    // copied from the caller's output `index`, which stands earlier
    kConstant,  // copied from the value's constant
    kPool,      // handed over: the storage of instance `index`
  };
  From from = From::kDirect;
  uint32_t index = 0;
};

struct TensorPlaces {
  std::vector<TensorPlace> instances;  // by instance
  std::vector<OutputSource> outputs;   // by graph output
  std::vector<StepAction> actions;     // by step
};

// Errors: kUnsupported (a tensor whose size or type a run cannot
// hold: named), kInvalidInput (an instance that lies nowhere, an output that no step makes).
Result<TensorPlaces> PlaceTensors(const Graph& graph, const Plan& plan);

// True when the bytes from the first to the last element hold nothing else.
bool IsContiguous(const TensorLayout& layout);

}  // namespace pt
