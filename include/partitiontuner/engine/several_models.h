// Several models on one machine: networks that are wanted together as one model with one plan.
//
//   auto both = pt::OpenModels({{"detector.onnx"}, {"classifier.onnx"}}).value();
//   auto model = engine->Load(*both, {}).value();  // inputs "detector/x", "classifier/x"
//   pt::Plan plan = engine->MakePlan(*model, {}).value();
//
//   auto plan = pt::LoadPlan("both.ptplan.json").value();  // in a later process
//   pt::ModelOptions options = pt::OptionsOf(plan).value();
//   auto model = engine->Load(*pt::OpenModels(pt::ModelsOf(plan), options.load).value(), options).value();
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/engine/model.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// One of the models that are opened together.
struct ModelToOpen {
  std::string path;
  std::string name = {};   // empty: that of the file, without folder and ending; "-2", "-3" behind where it comes again
  size_t given_count = 0;  // LoadOptions::given_count of this model
};

// By their order, the names of OpenModels. Errors: kUsage for a name that comes twice or cannot be one.
Result<std::vector<std::string>> NamesOfModels(const std::vector<ModelToOpen>& models);

// The disjoint union of the models, each loaded by itself (graph/disjoint_union.h: what everything is called). Of
// `options` given_inputs are such names, given_count has no meaning, and the limits hold for each file, that on nodes
// for all of them too. A single model without a name is the one of OpenModel, its names as in the file. Errors: those
// of OpenModel, with the file; of NamesOfModels and DisjointUnion; kUsage for no model, and for a name of a single one.
Result<std::shared_ptr<const ModelFile>> OpenModels(const std::vector<ModelToOpen>& models,
                                                    const LoadOptions& options = {});

// The files that a plan for several models names, as they were called when it was made; none of a plan for one model.
std::vector<ModelToOpen> ModelsOf(const Plan& plan);

// How the models differ from those that the plan names: in number, names, order or content. A line each; none where
// they are the same, and where both are of one model.
std::vector<std::string> ModelDifferences(const Model& model, const Plan& plan);

}  // namespace pt
