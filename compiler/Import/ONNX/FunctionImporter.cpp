#include "compiler/Import/ONNX/FunctionImporter.h"
#include "compiler/Import/ONNX/CustomOperators.h"
#include "compiler/Import/ONNX/Loss.h"
#include "compiler/Support/Usage.h"

#include "llvm/ADT/STLExtras.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

class FunctionImporter {
public:
  FunctionImporter(const ImportJob &job, llvm::StringRef symbol, const Mode &mode)
      : job_(job), mode_(mode), function_(createFunction(symbol)),
        emit_(mlir::OpBuilder::atBlockEnd(function_.addEntryBlock())), environment_(emit_, job.symbols, job.constants) {
  }

  mlir::func::FuncOp run() {
    for (const auto &[name, slot] : job_.tensors)
      environment_.define(name, slot);
    for (auto [port, argument] : llvm::zip(job_.signature.inputs, function_.getArguments()))
      environment_.define(port.name, Slot::computed(argument));
    for (const FlatNode &node : job_.graph.nodes)
      if (failed(importNode(node)))
        for (const std::string &output : node.proto->output())
          environment_.define(output, Slot::failed());
    finish();
    return function_;
  }

private:
  mlir::func::FuncOp createFunction(llvm::StringRef symbol) {
    mlir::OpBuilder builder(job_.symbols.getOp()->getContext());
    llvm::SmallVector<mlir::Type> types;
    for (const Port &port : job_.signature.inputs)
      types.push_back(port.type);
    auto function =
        mlir::func::FuncOp::create(builder, builder.getUnknownLoc(), symbol, builder.getFunctionType(types, {}));
    for (auto [i, port] : llvm::enumerate(job_.signature.inputs))
      function.setArgAttrs(i, portAttributes(builder, port.name, port.batchDim));
    job_.symbols.insert(function);
    return function;
  }

  static llvm::SmallVector<mlir::NamedAttribute> portAttributes(mlir::Builder &builder, llvm::StringRef name,
                                                                std::optional<int64_t> batchDim) {
    llvm::SmallVector<mlir::NamedAttribute> attributes{
        builder.getNamedAttr("cleave.name", builder.getStringAttr(name))};
    if (batchDim)
      attributes.push_back(builder.getNamedAttr("cleave.batch_dim", builder.getI64IntegerAttr(*batchDim)));
    return attributes;
  }

  // Failure without a message: the node depends on one that failed, or its operator is not known; both are reported
  // already.
  LogicalResult importNode(const FlatNode &node) {
    const CustomOperator *custom = findCustomOperator(node);
    const OperatorEntry *entry = nullptr;
    if (!custom && OperatorTable::get().find(node, entry) != OperatorTable::Lookup::Found)
      return failure();
    emit_.loc = mlir::NameLoc::get(emit_.builder.getStringAttr(node.describe()));
    OpContext op(node, environment_, emit_, mode_, job_.errors, job_.notes, nextSite_);
    if (failed(checkInputs(node, custom ? OperatorEntry{nullptr, custom->minInputs, custom->maxInputs} : *entry, op)))
      return failure();
    return custom ? importCustomNode(*custom, op) : entry->handler(op);
  }

  LogicalResult checkInputs(const FlatNode &node, const OperatorEntry &entry, OpContext &op) {
    if (op.numInputs() > entry.maxInputs)
      return op.fail("expected at most " + llvm::Twine(entry.maxInputs) + " inputs; got " +
                     llvm::Twine(op.numInputs()));
    for (size_t i = 0; i < std::max(entry.minInputs, op.numInputs()); ++i) {
      if (!op.has(i)) {
        if (i < entry.minInputs || entry.maxInputs == kVariadic) // only a place of its own can be left out
          return op.fail("input " + llvm::Twine(i) + " is missing");
        continue;
      }
      const std::string &name = node.proto->input(int(i));
      switch (environment_.slot(name).kind) {
      case Slot::Kind::Failed:
        return failure();
      case Slot::Kind::Absent:
        return op.fail("reads " + quote(name) + ", an optional result that Cleave does not compute");
      case Slot::Kind::Sequence:
        if (!entry.takesSequence)
          return op.fail("input " + llvm::Twine(i) + " is a sequence; expected a tensor");
        break;
      default:
        break;
      }
    }
    return success();
  }

  void finish() {
    emit_.loc = emit_.builder.getUnknownLoc();
    llvm::SmallVector<Value> results;
    llvm::SmallVector<llvm::SmallVector<mlir::NamedAttribute>> attributes;
    for (const auto &output : job_.file.proto.graph().output()) {
      Slot &slot = environment_.slot(output.name());
      if (slot.kind == Slot::Kind::Absent)
        job_.errors.add("output " + quote(output.name()) + " is defined by no node");
      if (slot.kind == Slot::Kind::Sequence)
        job_.errors.add("output " + quote(output.name()) + " is a sequence; expected a tensor");
      Value value = environment_.value(output.name());
      if (!value)
        continue;
      if (isEmpty(value)) // known: what computes it is dead
        value = emit_.splat(0, typeOf(value));
      results.push_back(value);
      attributes.push_back(
          portAttributes(emit_.builder, output.name(), job_.signature.batchDimOf(output, typeOf(value))));
    }
    if (results.size() == size_t(job_.file.proto.graph().output_size()))
      addLoss(results, attributes);
    environment_.emitWrites();
    mlir::func::ReturnOp::create(emit_.builder, emit_.loc, results);
    function_.setFunctionType(emit_.builder.getFunctionType(function_.getArgumentTypes(), mlir::TypeRange(results)));
    for (auto [i, list] : llvm::enumerate(attributes))
      function_.setResultAttrs(i, list);
  }

  // Appends the loss of --loss, and marks the result that is minimized.
  void addLoss(llvm::SmallVector<Value> &results,
               llvm::SmallVector<llvm::SmallVector<mlir::NamedAttribute>> &attributes) {
    if (!job_.options.train)
      return;
    mlir::Builder &builder = emit_.builder;
    std::string name = job_.options.lossOutput;
    if (!job_.options.loss.empty()) {
      for (const auto &input : job_.file.proto.graph().input())
        if (input.name() == "labels")
          return job_.errors.add(usageError(
              "--loss", "it adds an input 'labels', and the model has one already; if it computes its loss, give "
                        "--loss-output NAME instead"));
      mlir::Type labels = labelsTypeFor(job_.options.loss, typeOf(results[0]), job_.errors);
      if (!labels)
        return;
      bool batched = llvm::any_of(attributes[0], [](auto &a) { return a.getName() == "cleave.batch_dim"; });
      auto list = builder.getDictionaryAttr(
          portAttributes(builder, "labels", batched ? std::optional<int64_t>(0) : std::nullopt));
      if (failed(function_.insertArgument(function_.getNumArguments(), labels, list, emit_.loc)))
        return job_.errors.add("the labels input cannot be added");
      if (mode_.training)
        noteLabels(llvm::cast<mlir::RankedTensorType>(labels), batched);
      name = "loss";
      results.push_back(emitLoss(emit_, job_.options.loss, results[0], function_.getArguments().back()));
      attributes.push_back(portAttributes(builder, name, std::nullopt));
    }
    auto index = findLoss(job_.file.proto.graph(), results, name, job_.errors);
    if (index)
      attributes[*index].push_back(builder.getNamedAttr("cleave.loss", builder.getUnitAttr()));
  }

  // What --data must bring besides the graph's own inputs.
  void noteLabels(mlir::RankedTensorType type, bool batched) {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << type.getElementType() << "[";
    for (int64_t i = 0; i < type.getRank(); ++i) {
      out << (i ? ", " : "");
      if (batched && i == 0)
        out << "samples";
      else
        out << type.getDimSize(i);
    }
    job_.notes.push_back("--loss " + job_.options.loss + " adds the input 'labels', " + text + "]");
  }

  const ImportJob &job_;
  Mode mode_;
  mlir::func::FuncOp function_;
  Emitter emit_;
  Environment environment_;
  int64_t nextSite_ = 0;
};

} // namespace

mlir::func::FuncOp cleave::onnx_import::importFunction(const ImportJob &job, llvm::StringRef symbol, const Mode &mode) {
  return FunctionImporter(job, symbol, mode).run();
}
