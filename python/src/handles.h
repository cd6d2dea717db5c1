// What objects of Python hold: each keeps alive what it was made from.
#pragma once

#include <nanobind/nanobind.h>
#include <partitiontuner/partitiontuner.h>

#include <memory>
#include <string>

namespace pt::python {

struct EngineHandle {
  std::shared_ptr<Engine> engine;
};

struct ModelHandle {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
};

// A plan and the text of its file. `model` is the one it was made for, none where the plan comes from a file.
struct PlanHandle {
  Plan plan;
  std::string json;
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
};

struct SessionHandle {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
  std::shared_ptr<Session> session;
};

// One file each: what it adds to the module.
void BindModels(nanobind::module_& module);
void BindPlans(nanobind::module_& module);
void BindSessions(nanobind::module_& module);
void BindQueues(nanobind::module_& module);

}  // namespace pt::python
