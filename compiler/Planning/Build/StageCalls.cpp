#include "compiler/Planning/Build/StageCalls.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "dialects/Cleave/IR/Attributes.h"

using namespace mlir;

namespace cleave::plan {

static std::string stageBufferOf(func::FuncOp function, StringRef edge, std::optional<int64_t> residual) {
  if (!edge.empty())
    return edge.str();
  // The last micro-batch may have its own functions, which may keep other values and share no frames with the others.
  StringRef variant = variantOf(function.getName()) == ".last" ? ".last" : "";
  return chunkName(*chunkNumber(function.getName())) + variant.str() + ".r" + std::to_string(*residual);
}

std::string stageBufferOfArgument(func::FuncOp function, unsigned index) {
  auto residual = function.getArgAttrOfType<IntegerAttr>(index, kResidualAttr);
  StringRef edge = edgeOfArgument(function, index);
  if (!residual && edge.empty())
    return "";
  return stageBufferOf(function, edge, residual ? std::optional<int64_t>(residual.getInt()) : std::nullopt);
}

std::string stageBufferOfResult(func::FuncOp function, unsigned index) {
  return stageBufferOf(function, edgeOfResult(function, index), index);
}

static StageBufferUses usesOf(func::FuncOp function) {
  StageBufferUses uses;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (std::string stageBuffer = stageBufferOfArgument(function, i); !stageBuffer.empty())
      uses.reads.push_back(stageBuffer);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    uses.writes.push_back(stageBufferOfResult(function, i));
  return uses;
}

LogicalResult StageCalls::build(const std::vector<pipeline::Item> &items) {
  for (const pipeline::Item &item : items)
    if (item.kind != pipeline::ItemKind::Run)
      addTransfer(item);
    else if (failed(addRun(item.task)))
      return failure();
  Transferred transferred{sent, received, {}};
  for (const auto &[program, transfer] : transfers)
    transferred.programs.insert(program);
  stageBuffers = stageBuffersOf(calls, uses, transferred, description.microBatches);
  return success();
}

func::FuncOp StageCalls::find(StringRef name) {
  auto [known, isNew] = functions.try_emplace(name);
  if (isNew)
    known->second = module.lookupSymbol<func::FuncOp>(name);
  return known->second;
}

LogicalResult StageCalls::addRun(const pipeline::Task &task) {
  llvm::SmallVector<StringRef> halves;
  std::string chunk = chunkName(static_cast<unsigned>(task.chunk));
  bool isSplit = find(chunk + ".bwd_x") != nullptr;
  switch (task.action) {
  case pipeline::Action::Forward:
    halves = {".fwd"};
    break;
  case pipeline::Action::Backward:
    halves = isSplit ? llvm::SmallVector<StringRef>{".bwd_x", ".bwd_w"} : llvm::SmallVector<StringRef>{".bwd"};
    break;
  case pipeline::Action::BackwardInput:
    halves = {".bwd_x"};
    break;
  case pipeline::Action::BackwardWeight:
    halves = {".bwd_w"};
    break;
  case pipeline::Action::Update:
    break;
  }
  if (std::string gather = chunk + kGatherSuffix.str(); find(gather) && done.insert({gather, 0}).second) {
    uses[gather]; // its results are in states
    calls.push_back({gather, 0});
  }
  for (StringRef half : halves) {
    std::string name = chunk + half.str();
    if (task.microBatch == 0 && find(name + ".first"))
      name += ".first";
    else if (task.microBatch == description.microBatches - 1 && find(name + ".last"))
      name += ".last";
    func::FuncOp function = find(name);
    if (!function)
      return module.emitError("expected a function @") << name << " to run " << pipeline::toString(task);
    if (!uses.count(name))
      uses.emplace(name, usesOf(function));
    calls.push_back({name, task.microBatch});
  }
  return success();
}

// A value that several chunks of one stage use is sent there once.
void StageCalls::addTransfer(const pipeline::Item &item) {
  const EdgeNames &edge = description.edges[item.edge];
  Transfer transfer{item.gradient ? edge.gradient : edge.value, item.kind == pipeline::ItemKind::Send, item.gradient,
                    item.peer};
  std::string name = transfer.isSend ? "send." + transfer.stageBuffer + ".to." + std::to_string(item.peer)
                                     : "recv." + transfer.stageBuffer;
  if (!done.insert({name, item.microBatch()}).second)
    return;
  transfers.try_emplace(name, transfer);
  (transfer.isSend ? sent : received).insert(transfer.stageBuffer);
  StageBufferUses &used = uses[name];
  (transfer.isSend ? used.reads : used.writes) = {transfer.stageBuffer};
  calls.push_back({name, item.microBatch()});
}

std::string StageCalls::sentEvent(const Transfer &transfer) {
  return "sent " + transfer.stageBuffer + " to " + std::to_string(transfer.peer);
}

} // namespace cleave::plan
