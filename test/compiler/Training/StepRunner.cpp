#include "test/compiler/Training/StepRunner.h"

#include "compiler/Training/Pipeline.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace cleave::test {

namespace {

bool lower(ModuleOp module, std::string options) {
  static bool registered = (registerTraining(), true);
  (void)registered;
  PassManager manager(module.getContext());
  // This runs before the pipeline, as with --insert import=.
  std::string before;
  if (size_t at = options.find(" split-backward"); at != std::string::npos) {
    before = "request-stages{stages=1 split-backward=true},";
    options.erase(at, std::string(" split-backward").size());
  }
  return succeeded(parsePassPipeline(before + "training-pipeline{" + options + "}", manager)) &&
         succeeded(manager.run(module));
}

} // namespace

StepRunner::StepRunner(const std::string &source, const std::string &pipelineOptions) : modelSource(source) {
  MLIRContext &context = referenceContext();
  auto module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    return;
  if (auto function = module->lookupSymbol<func::FuncOp>("model"))
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputNames.push_back(function.getArgAttrOfType<StringAttr>(i, "cleave.name").str());
  if (!lower(*module, pipelineOptions))
    return;
  for (unsigned chunk : chunksOf(*module))
    chunks.push_back(chunkName(chunk));
  describeStates(*module);
  openFunctions(*module);
  program = ReferenceProgram::compile(*module);
}

void StepRunner::describeStates(ModuleOp module) {
  for (auto state : module.getOps<StateOp>()) {
    std::string name = state.getSymName().str();
    Array &values = states[name] = Array(state.getTensorType().getNumElements());
    for (auto segment : state.getSegments().getAsRange<SegmentAttr>())
      if (FloatAttr value = segment.getInit().getValue())
        std::fill_n(values.begin() + segment.getOffset(), segment.getType().getNumElements(), value.getValueAsDouble());
    if (state.getRole() != Role::Parameter)
      continue;
    for (auto segment : state.getSegments().getAsRange<SegmentAttr>())
      places[segment.getName().str()] = {name, static_cast<size_t>(segment.getOffset()),
                                         static_cast<size_t>(segment.getType().getNumElements())};
  }
}

// Takes state out of the functions, so that they are pure, and records their inputs and results.
void StepRunner::openFunctions(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    Function &record = functions[function.getSymName().str()];
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Argument argument;
      if (auto index = function.getArgAttrOfType<IntegerAttr>(i, "cleave.residual"))
        argument.residual = index.getInt();
      else if (argument.edge = edgeOfArgument(function, i).str(); argument.edge.empty())
        argument.name = function.getArgAttrOfType<StringAttr>(i, "cleave.name").str();
      record.arguments.push_back(argument);
    }
    Block &block = function.getBody().front();
    Operation *terminator = block.getTerminator();
    SmallVector<Value> results(terminator->getOperands());
    for (auto [i, value] : llvm::enumerate(results)) {
      record.edges.push_back(edgeOfResult(function, i).str());
      if (function.getSymName().ends_with(".fwd") && record.edges.back().empty())
        residuals += cast<RankedTensorType>(value.getType()).getNumElements();
    }
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        record.arguments.push_back({-1, "", "", read.getState().str()});
        read.replaceAllUsesWith(block.addArgument(read.getResult().getType(), read.getLoc()));
        read.erase();
      } else if (auto write = dyn_cast<WriteOp>(op)) {
        record.written.push_back(write.getState().str());
        results.push_back(write.getValue());
        write.erase();
      }
    }
    terminator->setOperands(results);
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
    function.setFunctionType(
        FunctionType::get(module.getContext(), block.getArgumentTypes(), ValueRange(results).getTypes()));
  }
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>()))
    state.erase();
}

void StepRunner::openModel() {
  auto module = parseSourceString<ModuleOp>(modelSource, &referenceContext());
  auto function = module->lookupSymbol<func::FuncOp>("model");
  Block &block = function.getBody().front();
  for (auto read : llvm::make_early_inc_range(block.getOps<ReadOp>())) {
    modelParameters.push_back(read.getState().str());
    read.replaceAllUsesWith(block.addArgument(read.getResult().getType(), read.getLoc()));
    read.erase();
  }
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  function.setFunctionType(
      FunctionType::get(module->getContext(), block.getArgumentTypes(), function.getResultTypes()));
  for (StateOp state : llvm::make_early_inc_range(module->getOps<StateOp>()))
    state.erase();
  model = ReferenceProgram::compile(*module);
}

double StepRunner::modelLoss(const Arrays &inputs) {
  if (!model)
    openModel();
  Arrays arguments = inputs;
  for (const std::string &name : modelParameters)
    arguments.push_back(get(name));
  return model->run("model", arguments).front().front();
}

Array StepRunner::get(const std::string &originalName, const std::string &suffix) const {
  const Place &place = places.at(originalName);
  const Array &state = states.at(place.state + suffix);
  return Array(state.begin() + place.offset, state.begin() + place.offset + place.size);
}

void StepRunner::set(const std::string &originalName, const Array &values) {
  const Place &place = places.at(originalName);
  std::copy(values.begin(), values.end(), states.at(place.state).begin() + place.offset);
}

void StepRunner::setScalar(const std::string &name, double value) {
  if (auto found = states.find("scalar." + name); found != states.end())
    found->second = {value};
}

Arrays StepRunner::call(const std::string &name, const Arrays &inputs) {
  const Function &function = functions.at(name);
  Arrays arguments, results;
  size_t next = 0;
  for (const Argument &argument : function.arguments)
    arguments.push_back(argument.state.empty() ? inputs.at(next++) : states.at(argument.state));
  results = program->run(name, arguments);
  size_t own = results.size() - function.written.size();
  for (size_t i = 0; i < function.written.size(); ++i)
    states.at(function.written[i]) = results[own + i];
  results.resize(own);
  return results;
}

Arrays StepRunner::runHalf(const std::string &name, const Arrays &inputs, const Arrays &kept,
                           std::map<std::string, Array> &edges) {
  const Function &function = functions.at(name);
  Arrays arguments;
  for (const Argument &argument : function.arguments)
    if (argument.residual >= 0)
      arguments.push_back(kept.at(argument.residual));
    else if (!argument.edge.empty())
      arguments.push_back(edges.at(argument.edge));
    else if (argument.state.empty())
      arguments.push_back(
          inputs.at(std::find(inputNames.begin(), inputNames.end(), argument.name) - inputNames.begin()));
  Arrays results = call(name, arguments);
  for (size_t i = 0; i < results.size(); ++i)
    if (!function.edges[i].empty())
      edges[function.edges[i]] = results[i];
  return results;
}

void StepRunner::accumulate(const std::vector<Arrays> &microBatches) {
  for (size_t m = 0; m < microBatches.size(); ++m) {
    std::string suffix = m == 0 && functions.count("c0.fwd.first") ? ".first" : "";
    std::map<std::string, Array> edges;
    std::map<std::string, Arrays> kept;
    for (const std::string &chunk : chunks)
      kept[chunk] = runHalf(chunk + ".fwd" + suffix, microBatches[m], {}, edges);
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
      for (const char *half : {".bwd", ".bwd_x", ".bwd_w"})
        if (functions.count(*chunk + half + suffix))
          runHalf(*chunk + half + suffix, microBatches[m], kept[*chunk], edges);
  }
}

} // namespace cleave::test
