// The models of a command line: one, or several that are joined (engine/several_models.h), with the data given for
// them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "partitiontuner/engine/several_models.h"
#include "tools/common/flags.h"
#include "tools/common/inputs.h"

namespace pt::tools {

// The words "FILE" and "NAME=FILE" of the command line. Errors: kUsage for words behind the first that name no file,
// and for names that cannot be.
Result<std::vector<ModelToOpen>> ModelsFrom(const CommonFlags& flags);

// Reads the models with what --input gives them, which it adds to the options: dims, and which inputs with a default
// are given. Data that was given by model (--input NAME=DIR) is by the names of inputs after that. Errors: those of
// ModelsFrom and OpenModels; kUsage for data of a model that is not there, or does not say which model's it is;
// kInvalidInput for more data than inputs.
Result<std::shared_ptr<const ModelFile>> OpenGiven(const CommonFlags& flags, GivenInputs& given, ModelOptions& options);

// The same, loaded. Errors: those of OpenGiven and Engine::Load.
Result<std::shared_ptr<const Model>> LoadGiven(Engine& engine, const CommonFlags& flags, GivenInputs& given,
                                               ModelOptions& options);

// kUsage where several models are given with something that works on one.
Status CheckOneModel(const CommonFlags& flags, std::string_view flag);

// Of a plan for several models where the command line names none: the plan's own become the flags', each found where
// the plan says or beside the plan's file. Errors: kInvalidInput (a model is in neither place).
Status TakeModelsOf(const Plan& plan, const std::string& plan_file, CommonFlags& flags);

}  // namespace pt::tools
