#include "test/compiler/Training/StepRunner.h"

#include "compiler/Training/Pipeline.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace cleave::test {

namespace {

bool lower(ModuleOp module, const std::string &options) {
  static bool registered = (registerTraining(), true);
  (void)registered;
  PassManager manager(module.getContext());
  return succeeded(parsePassPipeline("training-pipeline{" + options + "}", manager)) && succeeded(manager.run(module));
}

} // namespace

StepRunner::StepRunner(const std::string &model, const std::string &pipelineOptions) {
  MLIRContext &context = referenceContext();
  auto module = parseSourceString<ModuleOp>(model, &context);
  if (!module)
    return;
  if (auto function = module->lookupSymbol<func::FuncOp>("model"))
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputNames.push_back(function.getArgAttrOfType<StringAttr>(i, "cleave.name").str());
  if (!lower(*module, pipelineOptions))
    return;
  describeStates(*module);
  openFunctions(*module);
  program = ReferenceProgram::compile(*module);
}

void StepRunner::describeStates(ModuleOp module) {
  for (auto state : module.getOps<StateOp>()) {
    std::string name = state.getSymName().str();
    states[name] = Array(state.getTensorType().getNumElements());
    if (state.getRole() != Role::Parameter)
      continue;
    for (auto segment : state.getSegments().getAsRange<SegmentAttr>())
      places[segment.getName().str()] = {name, static_cast<size_t>(segment.getOffset()),
                                         static_cast<size_t>(segment.getType().getNumElements())};
  }
}

// Takes state out of the functions, so that they are pure, and remembers what went in and out.
void StepRunner::openFunctions(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    Function &record = functions[function.getSymName().str()];
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Argument argument;
      if (auto index = function.getArgAttrOfType<IntegerAttr>(i, "cleave.residual"))
        argument.residual = index.getInt();
      else
        argument.name = function.getArgAttrOfType<StringAttr>(i, "cleave.name").str();
      record.arguments.push_back(argument);
    }
    Block &block = function.getBody().front();
    Operation *terminator = block.getTerminator();
    SmallVector<Value> results(terminator->getOperands());
    for (Value value : results)
      if (function.getSymName() == "c0.fwd")
        residuals += cast<RankedTensorType>(value.getType()).getNumElements();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        record.arguments.push_back({-1, "", read.getState().str()});
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

void StepRunner::accumulate(const std::vector<Arrays> &microBatches) {
  for (size_t m = 0; m < microBatches.size(); ++m) {
    std::string suffix = m == 0 && functions.count("c0.fwd.first") ? ".first" : "";
    auto inputOf = [&](const std::string &name) {
      return microBatches[m].at(std::find(inputNames.begin(), inputNames.end(), name) - inputNames.begin());
    };
    Arrays forward, backward;
    for (const Argument &argument : functions.at("c0.fwd" + suffix).arguments)
      if (argument.state.empty())
        forward.push_back(inputOf(argument.name));
    Arrays kept = call("c0.fwd" + suffix, forward);
    for (const Argument &argument : functions.at("c0.bwd" + suffix).arguments)
      if (argument.state.empty())
        backward.push_back(argument.residual >= 0 ? kept.at(argument.residual) : inputOf(argument.name));
    call("c0.bwd" + suffix, backward);
  }
}

} // namespace cleave::test
