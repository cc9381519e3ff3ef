// Lists the calls of one stage of a pipeline in a step, in order: the bodies of its chunks and its transfers, with the
// stage buffers of the values that cross them.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGECALLS_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGECALLS_H

#include "compiler/Pipeline/Items.h"
#include "compiler/Planning/Build/PipelineDescription.h"
#include "compiler/Planning/Build/StageLists.h"

namespace cleave::plan {

// Returns the stage buffer of an argument (empty for an input of the model), or of a result.
std::string stageBufferOfArgument(mlir::func::FuncOp function, unsigned index);
std::string stageBufferOfResult(mlir::func::FuncOp function, unsigned index);

class StageCalls {
public:
  struct Transfer {
    std::string stageBuffer;
    bool isSend, isGradient;
    int peer;
  };

  StageCalls(mlir::ModuleOp module, const PipelineDescription &description)
      : module(module), description(description) {}

  mlir::LogicalResult build(const std::vector<pipeline::Item> &items);

  std::vector<StageCall> calls;
  std::map<std::string, StageBuffer> stageBuffers;
  std::map<std::string, StageBufferUses> uses; // by program
  std::map<std::string, Transfer> transfers;
  std::set<std::string> sent, received; // stage buffers

  // "sent c0:0 to 2".
  static std::string sentEvent(const Transfer &transfer);

private:
  // Returns null if there is no such function. Looks up each name only once.
  mlir::func::FuncOp find(llvm::StringRef name);
  mlir::LogicalResult addRun(const pipeline::Task &task);
  void addTransfer(const pipeline::Item &item);

  mlir::ModuleOp module;
  const PipelineDescription &description;
  std::set<std::pair<std::string, int>> done;
  llvm::StringMap<mlir::func::FuncOp> functions;
};

} // namespace cleave::plan

#endif
