#include "compiler/Import/ONNX/FunctionImporter.h"
#include "compiler/Import/ONNX/File/DeclaredTypes.h"
#include "compiler/Import/ONNX/InnerValues.h"
#include "compiler/Import/ONNX/Interpreter.h"
#include "compiler/Import/ONNX/Operators/AttributeRules.h"
#include "compiler/Import/ONNX/Operators/ControlFlow.h"
#include "compiler/Import/ONNX/Operators/CustomOperators.h"
#include "compiler/Import/ONNX/Operators/Loss.h"
#include "compiler/Import/ONNX/Operators/RandomMasks.h"
#include "compiler/Import/ONNX/Operators/TorchGradients.h"
#include "compiler/Support/Usage.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Budget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

class FunctionImporter {
public:
  FunctionImporter(const ImportJob &job, llvm::StringRef symbol, const Mode &mode)
      : job_(job), mode_(mode), function_(createFunction(symbol)),
        emit_(mlir::OpBuilder::atBlockEnd(function_.addEntryBlock())), environment_(emit_, job.symbols, job.constants),
        controlFlow_(
            job.file, job.graph.numCalls, environment_, job.errors,
            [this](const FlatGraph &graph) { importNodes(graph); },
            [this](std::shared_ptr<const void> owned) { job_.weights.own(std::move(owned)); }) {}

  mlir::func::FuncOp run() {
    for (const auto &[name, binding] : job_.tensors)
      environment_.define(name, binding);
    for (auto [port, argument] : llvm::zip(job_.signature.inputs, function_.getArguments()))
      environment_.define(port.name, Binding::computed(argument));
    importNodes(job_.graph);
    if (Budget::of(function_.getContext()).isExhausted())
      return function_;
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
    llvm::SmallVector<mlir::DictionaryAttr> attributes;
    for (const Port &port : job_.signature.inputs)
      attributes.push_back(builder.getDictionaryAttr(portAttributes(builder, port.name, port.batchDim)));
    function.setAllArgAttrs(attributes);
    job_.symbols.insert(function);
    return function;
  }

  static llvm::SmallVector<mlir::NamedAttribute> portAttributes(mlir::Builder &builder, llvm::StringRef name,
                                                                std::optional<int64_t> batchDim) {
    llvm::SmallVector<mlir::NamedAttribute> attributes{builder.getNamedAttr(kNameAttr, builder.getStringAttr(name))};
    if (batchDim)
      attributes.push_back(builder.getNamedAttr(kBatchDimAttr, builder.getI64IntegerAttr(*batchDim)));
    return attributes;
  }

  void importNodes(const FlatGraph &graph) {
    Budget &budget = Budget::of(function_.getContext());
    for (const FlatNode &node : graph.nodes) {
      mlir::StringAttr description = emit_.builder.getStringAttr(node.describe());
      emit_.loc = locationOf(node, description);
      budget.setAsker(description);
      llvm::SaveAndRestore outer(outer_, outer_ ? outer_ : node.proto);
      if (failed(ControlFlow::imports(node) ? importControlFlow(node) : importNode(node)))
        for (const std::string &output : node.proto->output())
          environment_.define(output, Binding::failed());
      if (budget.isExhausted())
        return;
    }
  }

  // Returns a location with the node's description, which messages show. It contains the name that the file gives to
  // the node, because users know the node by it.
  mlir::Location locationOf(const FlatNode &node, mlir::StringAttr description) {
    if (node.proto->name().empty())
      return mlir::NameLoc::get(description);
    return mlir::NameLoc::get(description, mlir::NameLoc::get(emit_.builder.getStringAttr(node.proto->name())));
  }

  LogicalResult importControlFlow(const FlatNode &node) {
    OpContext op(node, environment_, emit_, mode_, job_.errors, job_.notes, job_.tensorReader, nextSite_);
    return failed(checkDefinition(node, op)) ? failure() : controlFlow_.import(op);
  }

  // Fails without a message if the node depends on one that failed, or if its operator is unknown, because both have
  // been reported.
  LogicalResult importNode(const FlatNode &node) {
    const CustomOperator *custom = findCustomOperator(node);
    Handler handler = nullptr;
    if (!custom && OperatorTable::get().find(node, handler) != OperatorTable::Lookup::Found)
      return failure();
    OpContext op(node, environment_, emit_, mode_, job_.errors, job_.notes, job_.tensorReader, nextSite_);
    if (failed(custom ? checkInputs(node, custom->minInputs, custom->maxInputs, false, op) : checkDefinition(node, op)))
      return failure();
    mlir::Block *block = emit_.builder.getInsertionBlock();
    mlir::Operation *last = block->empty() ? nullptr : &block->back();
    if (failed(custom ? importCustomNode(*custom, op) : handler(op)) || failed(checkTypes(node, op)))
      return failure();
    mlir::Operation *first = last ? last->getNextNode() : block->empty() ? nullptr : &block->front();
    if (failed(checkSizes(op, first)))
      return failure();
    if (mode_.training && failed(applyTorchGradient(node, job_.file.proto, environment_, op)))
      return failure();
    if (job_.options.marksInnerValues)
      markInnerValues(first, resultsOf(node));
    foldNode(node, first);
    if (!job_.options.train)
      job_.decisions.add(*node.proto, *outer_, environment_);
    return success();
  }

  // Checks the sizes of all values that the handler has created. Handlers check their operands, but inner values may be
  // larger, for example the scores of an attention.
  LogicalResult checkSizes(OpContext &op, mlir::Operation *first) {
    for (mlir::Operation *made = first; made; made = made->getNextNode())
      for (mlir::Value value : made->getResults())
        if (auto type = llvm::dyn_cast<RankedTensorType>(value.getType()); type && !countElements(type.getShape()))
          return op.fail("it computes a tensor of shape " + formatShape(type.getShape()) +
                         ", which has more than 2^46 elements");
    return success();
  }

  llvm::SmallVector<Value> resultsOf(const FlatNode &node) {
    llvm::SmallVector<Value> results;
    for (const std::string &output : node.proto->output())
      for (const Binding *part : environment_.binding(output).parts())
        results.push_back(part->value);
    return results;
  }

  // Numbers that decide something (sizes, axes, conditions) are few, and SizeDecisions needs every one of them, so they
  // are always computed. A larger tensor is data, which the ops can compute in the run.
  Interpreter::Use useOf(const FlatNode &node) {
    auto isSmall = [&](const std::string &name) {
      return llvm::all_of(environment_.binding(name).parts(), [](const Binding *part) {
        int64_t count = part->known   ? part->known->numElements()
                        : part->value ? typeOf(part->value).getNumElements()
                                      : 0;
        return count <= kMostNumbers;
      });
    };
    bool decides = llvm::all_of(node.proto->input(), isSmall) && llvm::all_of(node.proto->output(), isSmall);
    return decides ? Interpreter::Use::Required : Interpreter::Use::Optional;
  }

  // Folds a node whose inputs are all known. The interpreter computes the ops from `first` on, which the node's handler
  // has created. If an operand must be known later, StaticOperands computes it, even if it is not folded here.
  void foldNode(const FlatNode &node, mlir::Operation *first) {
    auto isKnown = [&](const std::string &name) { return name.empty() || environment_.binding(name).isKnown(); };
    if (!llvm::all_of(node.proto->input(), isKnown) || llvm::all_of(node.proto->output(), isKnown))
      return;
    Interpreter interpreter(emit_.budget, useOf(node));
    for (const std::string &input : node.proto->input())
      for (const Binding *part : environment_.binding(input).parts())
        if (part->value)
          interpreter.define(part->value, *part->known);
    for (mlir::Operation *op = first; op; op = op->getNextNode())
      interpreter.visit(op);
    auto found = [&](const Binding &part) {
      auto value = part.kind == Binding::Kind::Computed ? interpreter.find(part.value) : std::nullopt;
      return value ? Binding::literal(std::move(*value)) : part;
    };
    for (const std::string &output : node.proto->output()) {
      Binding &binding = environment_.binding(output);
      if (binding.kind != Binding::Kind::Sequence) {
        binding = found(binding);
        continue;
      }
      Binding::Sequence parts;
      for (const auto &part : *binding.elements)
        parts.push_back(std::make_shared<const Binding>(found(*part)));
      binding = Binding::sequence(std::move(parts));
    }
  }

  // Checks the node against the standard's definition of its operator.
  LogicalResult checkDefinition(const FlatNode &node, OpContext &op) {
    const OperatorSchema *schema = OperatorSchema::find(op.name(), node.opset());
    if (!schema)
      return op.fail("the standard has no such operator in opset " + llvm::Twine(node.opset()));
    if (std::string reason = checkCounts(*node.proto, *schema); !reason.empty())
      return op.fail(reason);
    if (failed(checkInputs(node, 0, op.numInputs(), schema->takesSequence(), op)))
      return failure();
    if (std::string reason = checkAttributes(*node.proto, *schema); !reason.empty())
      return op.fail(reason);
    return checkTypes(node, op);
  }

  // Checks the types of the inputs, and of the outputs that are defined already, against the standard's definition.
  LogicalResult checkTypes(const FlatNode &node, OpContext &op) {
    const OperatorSchema *schema = OperatorSchema::find(op.name(), node.opset());
    if (!schema || !canonicalDomain(node.proto->domain()).empty())
      return success();
    llvm::SmallVector<TypeSet> types;
    for (const auto *names : {&node.proto->input(), &node.proto->output()})
      for (const std::string &name : *names)
        types.push_back(name.empty() ? 0 : environment_.typesOf(environment_.binding(name)));
    std::string reason = cleave::onnx_import::checkTypes(*node.proto, *schema, types);
    return reason.empty() ? success() : op.fail(reason);
  }

  LogicalResult checkInputs(const FlatNode &node, size_t least, size_t most, bool takesSequence, OpContext &op) {
    if (op.numInputs() > most)
      return op.fail("expected at most " + llvm::Twine(most) + " inputs; got " + llvm::Twine(op.numInputs()));
    for (size_t i = 0; i < std::max(least, op.numInputs()); ++i) {
      if (!op.has(i)) {
        if (i < least)
          return op.fail("input " + llvm::Twine(i) + " is missing");
        continue;
      }
      const std::string &name = node.proto->input(int(i));
      switch (environment_.binding(name).kind) {
      case Binding::Kind::Failed:
        return failure();
      case Binding::Kind::Absent:
        return op.fail("reads " + quote(name) + ", an optional result that Cleave does not compute");
      case Binding::Kind::Sequence:
        if (!takesSequence)
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
    if (mode_.training == job_.options.train) // once, even if the file is imported for training and for evaluation
      checkDeclaredTypes(job_.file.proto.graph(), environment_, function_.getContext(), job_.errors, job_.notes);
    llvm::SmallVector<Value> results;
    llvm::SmallVector<llvm::SmallVector<mlir::NamedAttribute>> attributes;
    for (const auto &output : job_.file.proto.graph().output()) {
      Binding &binding = environment_.binding(output.name());
      if (binding.kind == Binding::Kind::Absent)
        job_.errors.add("output " + quote(output.name()) + " is defined by no node");
      if (binding.kind == Binding::Kind::Sequence)
        job_.errors.add("output " + quote(output.name()) + " is a sequence; expected a tensor");
      Value value = environment_.value(output.name());
      if (!value)
        continue;
      if (isEmpty(value)) // no elements: the ops that compute it are dead
        value = emit_.splat(0, typeOf(value));
      results.push_back(value);
      attributes.push_back(portAttributes(emit_.builder, output.name(), batchDimOf(output, typeOf(value))));
    }
    if (results.size() == size_t(job_.file.proto.graph().output_size()))
      addLoss(results, attributes);
    environment_.emitWrites();
    mlir::func::ReturnOp::create(emit_.builder, emit_.loc, results);
    function_.setFunctionType(emit_.builder.getFunctionType(function_.getArgumentTypes(), mlir::TypeRange(results)));
    function_.setAllResultAttrs(
        llvm::map_to_vector(attributes, [&](const auto &list) { return emit_.builder.getDictionaryAttr(list); }));
    if (!mode_.training)
      noteDraws(replaceRandomMasks(function_));
  }

  std::optional<int64_t> batchDimOf(const onnx::ValueInfoProto &output, mlir::RankedTensorType type) {
    std::optional<int64_t> declared = job_.signature.declaredBatchDim(output, type);
    bool isWhole = llvm::is_contained(job_.options.wholeOutputs, output.name());
    if (declared || isWhole || !job_.signature.mayHaveBatch(type))
      return declared;
    if (mode_.training == job_.options.train) // once, as in finish()
      job_.guessedBatch.push_back(output.name());
    return 0;
  }

  void noteDraws(const std::vector<std::string> &places) {
    if (!places.empty())
      job_.notes.push_back(places.front() +
                           (places.size() > 1 ? " and " + std::to_string(places.size() - 1) + " more" : "") +
                           ": random numbers are drawn " +
                           (job_.options.train ? "in evaluation, too" : "in inference, other ones in each call"));
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
      mlir::Type labels = labelsTypeFor(job_.options.loss, typeOf(results[0]), job_.options.lossClassDim, job_.errors);
      if (!labels)
        return;
      bool batched = llvm::any_of(attributes[0], [](auto &a) { return a.getName() == kBatchDimAttr; });
      if (!batched && hasBatchedInput())
        return refuseLabels(typeOf(results[0]));
      auto list = builder.getDictionaryAttr(
          portAttributes(builder, "labels", batched ? std::optional<int64_t>(0) : std::nullopt));
      if (failed(function_.insertArgument(function_.getNumArguments(), labels, list, emit_.loc)))
        return job_.errors.add("the labels input cannot be added");
      if (mode_.training) {
        noteLabels(llvm::cast<mlir::RankedTensorType>(labels), typeOf(results[0]), batched);
        noteUnfitOutput();
      }
      name = "loss";
      results.push_back(emitLoss(emit_, job_.options.loss, results[0], function_.getArguments().back(),
                                 job_.options.ignoredLabel, job_.options.lossClassDim));
      attributes.push_back(portAttributes(builder, name, std::nullopt));
    }
    auto index = findLoss(job_.file.proto.graph(), results, name, job_.errors);
    if (index)
      attributes[*index].push_back(builder.getNamedAttr(kLossAttr, builder.getUnitAttr()));
  }

  // Returns the operator that makes a value of the graph. Nodes that only move or convert the value, or add an initializer
  // to it, are skipped. Empty if no node makes it.
  llvm::StringRef operatorOf(llvm::StringRef value) const {
    const auto &graph = job_.file.proto.graph();
    llvm::StringSet<> initializers;
    for (const auto &tensor : graph.initializer())
      initializers.insert(tensor.name());
    // Nodes are in the order of their uses.
    for (auto node = graph.node().rbegin(); node != graph.node().rend(); ++node) {
      if (node->output_size() == 0 || node->input_size() == 0 || value != node->output(0))
        continue;
      llvm::StringRef made = node->op_type();
      if (made == "Add" && node->input_size() == 2 && initializers.contains(node->input(0)))
        value = node->input(1);
      else if (made == "Add" && node->input_size() == 2 && initializers.contains(node->input(1)))
        value = node->input(0);
      else if (llvm::is_contained({"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"},
                                  made))
        value = node->input(0);
      else
        return made;
    }
    return "";
  }

  // Notes that the first output is probably not what the loss takes. The loss is computed all the same.
  void noteUnfitOutput() {
    const std::string &output = job_.file.proto.graph().output(0).name(), &loss = job_.options.loss;
    llvm::StringRef made = operatorOf(output);
    std::string of = quote(output) + " comes from " + made.str();
    bool isProbability = made == "Softmax" || made == "Sigmoid";
    if (loss == "cross-entropy" && isProbability)
      job_.notes.push_back("--loss cross-entropy takes scores and makes probabilities of them by a softmax, and " + of +
                           ": export the model without that");
    if (loss == "nll" && (isProbability || llvm::is_contained({"Gemm", "MatMul", "Conv"}, made)))
      job_.notes.push_back("--loss nll takes logarithms of probabilities, as LogSoftmax gives them, and " + of +
                           (isProbability ? "" : "; of scores, --loss cross-entropy is the loss"));
  }

  bool hasBatchedInput() {
    auto arguments = llvm::seq<unsigned>(0, function_.getNumArguments());
    return llvm::any_of(arguments, [&](unsigned i) { return function_.getArgAttr(i, kBatchDimAttr) != nullptr; });
  }

  // Labels for an output that has no samples would be the same in every step.
  void refuseLabels(mlir::RankedTensorType predictions) {
    std::string name = quote(job_.file.proto.graph().output(0).name());
    job_.errors.add(
        usageError("--loss", "the first output " + name + " has the shape " + formatShape(predictions.getShape()) +
                                 ", and its first dimension is not the batch, so no label belongs to a sample. "
                                 "Put an output first that has one row for each sample; if the model "
                                 "computes its loss itself, give --loss-output NAME"));
  }

  // Notes which labels --data must contain, in addition to the graph's own inputs. The note names the dimension of the
  // classes if there is a choice: if two dimensions have the same size, labels for the other one fit as well.
  void noteLabels(mlir::RankedTensorType type, mlir::RankedTensorType predictions, bool batched) {
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
    out << "]";
    bool isOfClasses = job_.options.loss != "mse";
    if (isOfClasses && predictions.getRank() > 2)
      out << "; the classes are dimension " << classDimOf(predictions, job_.options.lossClassDim) << " of "
          << quote(job_.file.proto.graph().output(0).name()) << " " << formatShape(predictions.getShape())
          << " (--loss-class-dim)";
    if (isOfClasses && job_.options.ignoredLabel)
      out << "; labels of " << *job_.options.ignoredLabel << " do not count (--loss-ignore-index)";
    job_.notes.push_back("--loss " + job_.options.loss + " adds the input 'labels', " + text);
  }

  const ImportJob &job_;
  Mode mode_;
  mlir::func::FuncOp function_;
  Emitter emit_;
  Environment environment_;
  int64_t nextSite_ = 0;
  const onnx::NodeProto *outer_ = nullptr; // the node of the model's graph that is being imported
  ControlFlow controlFlow_;
};

} // namespace

mlir::func::FuncOp cleave::onnx_import::importFunction(const ImportJob &job, llvm::StringRef symbol, const Mode &mode) {
  return FunctionImporter(job, symbol, mode).run();
}
