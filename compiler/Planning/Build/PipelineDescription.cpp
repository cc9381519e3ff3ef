#include "compiler/Planning/Build/PipelineDescription.h"

#include "compiler/Pipeline/Check.h"
#include "compiler/Pipeline/ScheduleFile.h"
#include "compiler/Pipeline/Schedules.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Reason.h"

#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;

namespace cleave::plan {

FailureOr<StageAxis> readStageAxis(ModuleOp module, StringRef *name) {
  auto request = module->getAttrOfType<DictionaryAttr>(kPipelineAttr);
  auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
  auto axis = request ? request.getAs<StringAttr>("axis") : StringAttr();
  if (!mesh || !axis || mesh.getIndex(axis) < 0)
    return module.emitError("expected an axis of cleave.mesh in cleave.pipeline; got: ") << request;
  *name = axis.getValue();
  return StageAxis{static_cast<int16_t>(mesh.getIndex(axis)), static_cast<unsigned>(mesh.getSize(axis))};
}

namespace {

class PipelineReader {
public:
  explicit PipelineReader(ModuleOp module) : module(module) {}

  LogicalResult read() {
    auto request = module->getAttrOfType<DictionaryAttr>(kPipelineAttr);
    auto count = module->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
    FailureOr<StageAxis> axis = readStageAxis(module, &description.axisName);
    if (failed(axis))
      return failure();
    if (!request.getAs<StringAttr>("schedule"))
      return module.emitError("expected a schedule in cleave.pipeline; got: ") << request;
    description.axis = *axis;
    description.microBatches = count ? static_cast<int>(count.getInt()) : 1;
    for (auto function : module.getOps<func::FuncOp>())
      if (chunkNumber(function.getName()))
        description.functions.push_back(function);
    readEdges();
    return makeSchedule(request);
  }

  PipelineDescription description;

private:
  void readEdges() {
    llvm::StringMap<unsigned> maker;
    llvm::MapVector<StringRef, std::set<unsigned>> users;
    for (func::FuncOp function : description.functions)
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (StringRef edge = edgeOfResult(function, i); !edge.empty()) {
          description.typeOf[edge] = function.getResultTypes()[i];
          description.tensorOf[edge] = tensorNameOf(function.getBody().front().getTerminator()->getOperand(i));
          maker[edge] = *chunkNumber(function.getName());
          if (!isBackward(function))
            users[edge];
        }
    for (func::FuncOp function : description.functions)
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto edge = users.find(edgeOfArgument(function, i)); edge != users.end())
          edge->second.insert(*chunkNumber(function.getName()));
    description.graph.chunks = static_cast<int>(chunksOf(module).size());
    for (const auto &[edge, ofEdge] : users)
      for (unsigned user : ofEdge)
        if (unsigned from = maker.lookup(edge); user != from) {
          std::string gradient = edgeGradientName(edge, user);
          bool hasGradient = description.typeOf.contains(gradient);
          description.graph.edges.push_back({static_cast<int>(from), static_cast<int>(user), hasGradient});
          if (hasGradient)
            description.tensorOf[gradient] = "gradient of " + description.tensorOf[edge];
          description.edges.push_back({edge.str(), hasGradient ? gradient : ""});
        }
  }

  LogicalResult makeSchedule(DictionaryAttr request) {
    std::string name = request.getAs<StringAttr>("schedule").str();
    int ranks = static_cast<int>(description.axis.stages);
    auto file = request.getAs<StringAttr>("file");
    if (!file && description.graph.chunks % ranks != 0)
      return module.emitError("expected as many chunks for each of ")
             << ranks << " stages; got: " << description.graph.chunks;
    auto made = file ? pipeline::parseSchedule(name, file.str(), {ranks, description.microBatches}, &description.graph)
                     : pipeline::makeSchedule(name, {ranks, description.microBatches, description.graph.chunks / ranks,
                                                     pipeline::Costs()});
    if (!made)
      return module.emitError(made.message());
    description.schedule = *made;
    if (auto problem = pipeline::checkSchedule(description.schedule, description.graph))
      return module.emitError("schedule ") << name << ": " << problem->problem.message;
    return success();
  }

  ModuleOp module;
};

} // namespace

FailureOr<PipelineDescription> readPipeline(ModuleOp module) {
  PipelineReader reader(module);
  if (failed(reader.read()))
    return failure();
  return std::move(reader.description);
}

} // namespace cleave::plan
