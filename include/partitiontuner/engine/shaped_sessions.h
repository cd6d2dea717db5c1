// ShapedSessions: sessions of one model by the dims of its inputs. The file is read once; for inputs of dims that are
// new the model is specialised, planned and compiled, and the session is kept for the next call. A bounded number of
// them is: the one that was used least recently makes room. Sessions share the weights that they pack alike.
//
//   auto sessions = pt::ShapedSessions::Make(*engine, "model.onnx", {}).value();
//   auto outputs = sessions->Run(inputs).value();  // whatever dims they have
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/support/recently_used.h"

namespace pt {

// What holds for the plans and sessions of all sizes.
struct ShapedSessionsOptions {
  ModelOptions model;  // holds for all sizes; input_dims come with the calls
  // Of the constraints, memory caps alone: the others name nodes and values of a graph, which sizes do not share. The
  // profile, if one is given, must outlive the sessions. Sizes that were not measured run by a default plan.
  PlanOptions plan{.default_plan = true};
  SessionOptions session;
  size_t most_sessions = 8;  // that are kept; those in use or being made may come on top
};

// A model at some size, ready to run.
struct ShapedSession {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
  bool default_plan = false;
  int64_t made_ns = 0;  // what specialising, planning and compiling took
};

// Thread-safe.
class ShapedSessions {
 public:
  // The engine outlives them. Errors: those of OpenModel; kUsage (no sessions to keep, constraints that name nodes).
  static Result<std::unique_ptr<ShapedSessions>> Make(Engine& engine, const std::string& path,
                                                      const ShapedSessionsOptions& options);
  static Result<std::unique_ptr<ShapedSessions>> Make(Engine& engine, std::shared_ptr<const ModelFile> file,
                                                      const ShapedSessionsOptions& options);

  // For inputs of these dims, in the order of the model's; none where it is not a tensor. Blocks while the session is
  // made, by this call or another one. It stays usable for as long as the caller holds it. Errors: those of
  // Engine::Load (kUsage with the exact flag to give for dims that stay unknown), MakePlan and MakeSession;
  // kInvalidInput for dims that the options rule out. They are not kept: the next call tries again.
  Result<std::shared_ptr<const ShapedSession>> For(std::span<const std::vector<int64_t>> input_dims);

  // One run on the session for these inputs; deadline and cancelling are of that run, not of making the session.
  // Errors: those of For and RunData.
  Result<std::vector<Datum>> Run(std::span<const Datum> inputs, const RunOptions& options = {});

  UseCounts counts() const { return sessions_.counts(); }
  const ModelFile& file() const { return *file_; }

 private:
  using Key = std::vector<std::vector<int64_t>>;

  ShapedSessions(Engine& engine, std::shared_ptr<const ModelFile> file, const ShapedSessionsOptions& options);
  Result<Key> KeyOf(std::span<const std::vector<int64_t>> input_dims) const;
  Result<std::shared_ptr<const ShapedSession>> MakeFor(const Key& dims) const;
  Status CheckDims(const Model& model, const Key& dims) const;

  Engine& engine_;
  const std::shared_ptr<const ModelFile> file_;
  const ShapedSessionsOptions options_;
  RecentlyUsed<Key, ShapedSession> sessions_;
};

}  // namespace pt
