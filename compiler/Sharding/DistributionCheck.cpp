#include "compiler/Sharding/DistributionCheck.h"

#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/RankOrigins.h"
#include "compiler/Sharding/ValueNames.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/DenseMap.h"

using namespace cleave;
using llvm::LogicalResult;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

class Checker {
public:
  Checker(mlir::ModuleOp module, MeshAttr mesh) : module(module), symbols(module), mesh(mesh), origins(symbols, mesh) {
    auto pipeline = module->getAttrOfType<mlir::DictionaryAttr>(kPipelineAttr);
    if (auto axis = pipeline ? pipeline.getAs<mlir::StringAttr>("axis") : mlir::StringAttr())
      pipelineAxis = mesh.getIndex(axis.getValue());
  }

  LogicalResult run() {
    checkStates();
    for (FuncOp function : inStepOrder(module))
      checkFunction(function);
    return mlir::success(!isWrong);
  }

private:
  template <typename Op> mlir::InFlightDiagnostic error(Op op) {
    isWrong = true;
    return op->emitError();
  }

  //===--- Declarations ---------------------------------------------------===//

  // Only gradients and scalars that some program reduces may hold terms. Every other state has readers that use it as
  // it is, such as the host.
  void checkStates() {
    llvm::DenseMap<llvm::StringRef, llvm::DenseSet<Operation *>> readers, writers;
    module.walk([&](Operation *op) {
      if (auto read = llvm::dyn_cast<ReadOp>(op))
        readers[read.getState()].insert(op->getParentOfType<FuncOp>());
      if (auto write = llvm::dyn_cast<WriteOp>(op))
        writers[write.getState()].insert(op->getParentOfType<FuncOp>());
    });
    for (StateOp state : module.getOps<StateOp>()) {
      Distribution stored = Distribution::of(*state.getStorage(), mesh);
      auto isStored = [&] { return nameOf(state) + " is stored"; };
      checkNoBlocks(state, stored, isStored);
      checkCoordinate(state);
      checkPipelineAxis(state, stored, isStored);
      if (!stored.has(AxisDistribution::Partial))
        continue;
      for (auto segment : state.getSegments().getAsRange<SegmentAttr>())
        if (segment.getInit().getKind() != InitKind::Zeros)
          error(state) << nameOf(state) << " is stored " << distributionText(stored, mesh)
                       << ", and each rank begins with a number; expected zeros";
      bool isAccumulator = state.getRole() == Role::Gradient || state.getRole() == Role::Scalar;
      const auto &written = writers[state.getSymName()];
      bool isReduced =
          llvm::any_of(readers[state.getSymName()], [&](Operation *reader) { return !written.contains(reader); });
      if (!isAccumulator || !isReduced)
        error(state) << nameOf(state) << " is stored " << distributionText(stored, mesh)
                     << ", and no program reduces it; expected "
                     << (isAccumulator ? "a program that reads it without adding to it" : "it to be whole or split");
    }
  }

  // Stages run different programs, so a rank of another stage has no part or term of a value.
  template <typename Op> void checkPipelineAxis(Op op, const Distribution &is, llvm::function_ref<std::string()> what) {
    if (pipelineAxis >= 0 && is.along[pipelineAxis] != AxisDistribution::Whole)
      error(op) << what() << " " << distributionText(is, mesh) << ", and "
                << axesText(static_cast<unsigned>(pipelineAxis), mesh)
                << " is the axis of the pipeline; expected it whole over that";
  }

  // Programs may not write coordinates, so a state that begins with one must say what it is.
  void checkCoordinate(StateOp state) {
    auto isOne = [](SegmentAttr segment) { return segment.getInit().getKind() == InitKind::Coordinate; };
    if (llvm::any_of(state.getSegments().getAsRange<SegmentAttr>(), isOne) != (state.getRole() == Role::Coordinate))
      error(state) << nameOf(state) << " has the role of a coordinate or begins with one; expected both or none";
  }

  // The host and the loader deal out neighbouring parts.
  template <typename Op>
  void checkNoBlocks(Op op, const Distribution &declared, llvm::function_ref<std::string()> what) {
    if (llvm::any_of(declared.dims, [](const DimSplit &dim) { return dim.blocks > 1; }))
      error(op) << what() << " in blocks; expected it whole, or one part on each rank";
  }

  // Inputs of one name are one tensor of the model, which all chunks of a step read.
  void checkSameName(FuncOp function, unsigned index, ShardingAttr sharding, mlir::Attribute batchDim) {
    if (!chunkNumber(function.getName()))
      return;
    auto name = function.getArgAttrOfType<mlir::StringAttr>(index, kNameAttr);
    if (!name) // the plan calls it so
      name = mlir::StringAttr::get(function.getContext(), "arg" + llvm::Twine(index));
    Declared declared{function, sharding, batchDim, function.getArgumentTypes()[index]};
    auto [first, isNew] = inputs.try_emplace(name, declared);
    Declared &other = first->second;
    if (!isNew && (other.sharding != sharding || other.batchDim != batchDim || other.type != declared.type))
      error(function) << "argument " << index << " of @" << function.getName() << " is input '" << name.getValue()
                      << "', which @" << other.function.getName()
                      << " declares in another way; expected one type, one sharding and one batch dimension";
  }

  // Returns the declared distribution. It is an error if an input or output of the model is not whole, except that its
  // batch dimension may be split.
  Distribution declaredPort(FuncOp function, ShardingAttr sharding, mlir::Attribute batchDim, bool isPort,
                            mlir::Type type, const llvm::Twine &what) {
    Distribution declared = Distribution::of(sharding, mesh);
    if (declared.dims.size() != static_cast<size_t>(llvm::cast<mlir::RankedTensorType>(type).getRank())) {
      error(function) << what << " of @" << function.getName() << " has the type " << type << " and a sharding of "
                      << declared.dims.size() << " dimensions; expected one for each dimension of the type";
      return Distribution::whole(mesh, llvm::cast<mlir::RankedTensorType>(type).getRank());
    }
    auto isDeclared = [&] { return (what + " of @" + function.getName() + " is declared").str(); };
    checkPipelineAxis(function, declared, isDeclared);
    if (isPort)
      checkNoBlocks(function, declared, isDeclared);
    auto batch = llvm::dyn_cast_if_present<mlir::IntegerAttr>(batchDim);
    for (unsigned axis = 0; isPort && axis < declared.along.size(); ++axis) {
      bool isBatch = batch && declared.dimOf(axis) == batch.getInt();
      if (declared.along[axis] != AxisDistribution::Whole && !isBatch)
        error(function) << what << " of @" << function.getName() << " is declared "
                        << distributionText(declared, mesh) << "; expected it whole"
                        << (batch ? " but along its batch dimension" : "");
    }
    return declared;
  }

  Distribution declaredArgument(FuncOp function, unsigned index) {
    bool isResidual = isFromFunction(function, index);
    auto sharding = function.getArgAttrOfType<ShardingAttr>(index, kShardingAttr);
    mlir::Attribute batchDim = function.getArgAttr(index, kBatchDimAttr);
    if (!isResidual)
      checkSameName(function, index, sharding, batchDim);
    return declaredPort(function, sharding, batchDim, !isResidual, function.getArgumentTypes()[index],
                        "argument " + llvm::Twine(index));
  }

  Distribution declaredResult(FuncOp function, unsigned index) {
    bool isNamed = function.getResultAttr(index, kNameAttr) != nullptr;
    return declaredPort(function, function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr),
                        function.getResultAttr(index, kBatchDimAttr), isNamed, function.getResultTypes()[index],
                        "result " + llvm::Twine(index));
  }

  static bool isFromFunction(FuncOp function, unsigned index) {
    return function.getArgAttr(index, kResidualAttr) || function.getArgAttr(index, kEdgeAttr);
  }

  // Returns the distribution of a residual or an edge: the one in which the other function returns it. This holds
  // whether or not the two functions declare it, because recomputation chooses other values.
  Distributions residualOf(FuncOp function, unsigned index) {
    mlir::OpOperand *source = sourceOf(function.getArgument(index));
    if (!source) {
      error(function) << "argument " << index << " of @" << function.getName()
                      << (edgeOfArgument(function, index).empty() ? " is a residual" : " is an edge")
                      << " that no function returns";
      return {};
    }
    mlir::OpOperand &returned = *source;
    Distributions made = found.lookup(returned.get());
    bool isMade = checked.contains(returned.getOwner());
    if (!isMade || returned.get().getType() != function.getArgumentTypes()[index])
      error(function) << "argument " << index << " of @" << function.getName() << " is a value of @"
                      << returned.getOwner()->getParentOfType<FuncOp>().getName()
                      << (isMade ? ", which returns it with another type" : ", which runs later in the step");
    if (!function.getArgAttrOfType<ShardingAttr>(index, kShardingAttr))
      return made;
    Distribution declared = declaredArgument(function, index);
    expect(returned, declared,
           "argument " + std::to_string(index) + " of @" + function.getName().str() + ", which it becomes, is declared");
    return {declared};
  }

  //===--- Programs -------------------------------------------------------===//

  void checkFunction(FuncOp function) {
    for (mlir::BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (isFromFunction(function, index) && function.getArgAttr(index, kNameAttr))
        error(function) << "argument " << index << " of @" << function.getName()
                        << " is an input and also a value of another function; expected one of the two";
      Distributions made = isFromFunction(function, index)
                               ? residualOf(function, index)
                               : Distributions{declaredArgument(function, index)};
      found[argument] = std::move(made);
    }
    checkBlock(function.getBody().front());
    for (mlir::OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands())
      if (function.getResultAttr(operand.getOperandNumber(), kShardingAttr))
        expect(operand, declaredResult(function, operand.getOperandNumber()),
             "result " + std::to_string(operand.getOperandNumber()) + " of @" + function.getName().str() +
                 " is declared");
    checked.insert(function.getBody().front().getTerminator());
  }

  void checkBlock(mlir::Block &block) {
    for (Operation &op : block.without_terminator())
      visit(&op);
  }

  void visit(Operation *op) {
    if (auto read = llvm::dyn_cast<ReadOp>(op))
      return visitRead(read);
    if (auto write = llvm::dyn_cast<WriteOp>(op)) {
      auto state = symbols.lookup<StateOp>(write.getState());
      if (state && state.getRole() == Role::Coordinate)
        error(op) << "writes " << nameOf(state) << ", the rank's coordinate, which must not change";
      if (state)
        expect(op->getOpOperand(0), Distribution::of(*state.getStorage(), mesh), nameOf(state) + " is stored");
      return;
    }
    mlir::DenseElementsAttr constant;
    if (op->getNumResults() == 1 && mlir::matchPattern(op, mlir::m_Constant(&constant))) {
      found[op->getResult(0)] = {distributionOf(constant, mesh)};
      return;
    }
    if (op->hasTrait<mlir::OpTrait::ConstantLike>()) { // of another kind of attribute: all ranks have the same
      auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
      found[op->getResult(0)] = {Distribution::whole(mesh, type.getRank())};
      return;
    }
    SmallVector<Distributions> operands;
    for (Value operand : op->getOperands())
      operands.push_back(found.lookup(operand));
    if (llvm::any_of(operands, [](const Distributions &all) { return all.empty(); }))
      return; // reported already; its results get no distribution either
    if (auto kernel = llvm::dyn_cast<KernelOp>(op))
      return visitKernel(kernel);
    if (op->getNumRegions() != 0 || llvm::isa<mlir::CallOpInterface>(op)) {
      error(op) << op->getName() << " has a body or calls one, for which there is no rule here";
      return;
    }
    if (auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
        compute && op->getNumResults() > 1 && compute.getComputeKind() == ComputeKind::Kernel && compute.isDecomposable())
      return visitParts(compute);
    Refusal refusal;
    if (llvm::isa<mlir::shard::ShardDialect>(op->getDialect())) {
      // Coordinates, and roots that are chosen at run time, differ between ranks: no rule here follows them.
      if (op->getNumOperands() == 1 && op->getNumResults() == 1)
        found[op->getResult(0)] = applyCollective(op, operands[0], mesh, refusal);
      else
        refusal.reason = "has no rule here; expected a collective that makes one tensor of one";
    } else {
      auto place = [&](Value origin, mlir::RankedTensorType part) { return origins.find(origin, part); };
      auto made = applyOp(op, operands, mesh, place, refusal);
      for (auto [result, all] : llvm::zip_equal(op->getResults(), made))
        found[result] = all;
    }
    if (refusal)
      tell(op, refusal);
  }

  // A coordinate differs between the ranks of its axis.
  void visitRead(ReadOp read) {
    auto state = symbols.lookup<StateOp>(read.getState());
    if (!state)
      return;
    Distribution made = Distribution::of(*state.getStorage(), mesh);
    for (auto segment : state.getSegments().getAsRange<SegmentAttr>())
      if (InitAttr init = segment.getInit(); init.getKind() == InitKind::Coordinate && init.getSource())
        if (int64_t axis = mesh.getIndex(init.getSource().getValue()); axis >= 0 && mesh.getSizes()[axis] > 1)
          made.along[axis] = AxisDistribution::Varying;
    checkPipelineAxis(read, made, [&] { return nameOf(read.getResult()) + " is"; });
    found[read.getResult()] = {made};
  }

  void visitKernel(KernelOp kernel) {
    mlir::Block &body = kernel.getBody().front();
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), kernel.getInputs()))
      found[argument] = found.lookup(input);
    checkBlock(body);
    for (auto [result, yielded] : llvm::zip_equal(kernel.getResults(), body.getTerminator()->getOperands()))
      found[result] = found.lookup(yielded);
  }

  // For results that are computed separately, each from some of the operands. The rules are those of the ops that
  // define them. These are built in a block that is thrown away.
  void visitParts(ComputeOpInterface op) {
    mlir::Block parts;
    mlir::OpBuilder builder(op.getContext());
    builder.setInsertionPointToEnd(&parts);
    SmallVector<Value> results = op.decompose(builder, op->getOperands());
    for (Operation &part : parts)
      visit(&part);
    for (auto [result, part] : llvm::zip_equal(op->getResults(), results))
      found[result] = found.lookup(part);
    for (Operation &part : parts)
      for (Value result : part.getResults())
        found.erase(result);
  }

  //===--- Messages -------------------------------------------------------===//

  void expect(mlir::OpOperand &use, const Distribution &wanted, const std::string &declared) {
    const Distributions all = found.lookup(use.get());
    auto shape = llvm::cast<mlir::RankedTensorType>(use.get().getType()).getShape();
    if (all.empty() || llvm::any_of(all, [&](const Distribution &is) { return is.fits(wanted, shape); }))
      return;
    const Distribution &is = all.front();
    auto message = error(use.getOwner());
    message << nameOf(use.get()) << " is " << distributionText(is, mesh);
    addCause(message, use.get(), is);
    message << "; " << declared << " " << distributionText(wanted, mesh) << ": " << mendText(is, wanted, mesh);
  }

  void tell(Operation *op, const Refusal &refusal) {
    if (refusal.operand < 0 || refusal.operand >= op->getNumOperands()) {
      error(op) << op->getName() << " " << refusal.reason;
      return;
    }
    Value operand = op->getOperand(refusal.operand);
    const Distribution is = found.lookup(operand).front();
    auto message = error(op);
    message << nameOf(operand) << " is " << distributionText(is, mesh);
    addCause(message, operand, is);
    message << "; " << op->getName();
    if (auto function = op->getParentOfType<FuncOp>())
      message << " in @" << function.getName();
    message << " " << refusal.reason;
    if (refusal.wanted)
      message << ", and expects it " << distributionText(*refusal.wanted, mesh) << ": "
              << mendText(is, *refusal.wanted, mesh);
  }

  // Adds where the error began: the state or the sum that the value is a term of.
  void addCause(mlir::InFlightDiagnostic &message, Value value, const Distribution &is) {
    for (unsigned axis = 0; axis < is.along.size(); ++axis) {
      if (is.along[axis] != AxisDistribution::Partial && is.along[axis] != AxisDistribution::Owned)
        continue;
      Value begin = beginOf(value, axis, is.along[axis]);
      if (begin != value)
        message << ", as is " << nameOf(begin);
      return;
    }
  }

  Value beginOf(Value value, unsigned axis, AxisDistribution what) {
    auto isSo = [&](Value other) {
      const Distributions all = found.lookup(other);
      return !all.empty() && all.front().along[axis] == what;
    };
    while (true) {
      Value next;
      if (Operation *op = value.getDefiningOp()) {
        if (auto kernel = llvm::dyn_cast<KernelOp>(op))
          next = kernel.getBody().front().getTerminator()->getOperand(
              llvm::cast<mlir::OpResult>(value).getResultNumber());
        else
          for (Value operand : op->getOperands())
            if (!next && isSo(operand))
              next = operand;
      } else if (auto argument = llvm::cast<mlir::BlockArgument>(value);
                 auto kernel = llvm::dyn_cast<KernelOp>(argument.getOwner()->getParentOp())) {
        next = kernel.getInputs()[argument.getArgNumber()];
      }
      if (!next)
        return value;
      value = next;
    }
  }

  mlir::ModuleOp module;
  mlir::SymbolTable symbols; // a model of n layers has n states, and each is looked up
  MeshAttr mesh;
  int64_t pipelineAxis = -1; // of the mesh; -1: no pipeline
  RankOrigins origins;
  llvm::DenseMap<Value, Distributions> found;
  llvm::DenseSet<Operation *> checked; // the terminators of the functions that were checked
  struct Declared {
    FuncOp function;
    ShardingAttr sharding;
    mlir::Attribute batchDim;
    mlir::Type type;
  };
  llvm::DenseMap<mlir::StringAttr, Declared> inputs; // as the first function declares them
  bool isWrong = false;
};

} // namespace

LogicalResult cleave::checkDistributions(mlir::ModuleOp module, MeshAttr mesh) { return Checker(module, mesh).run(); }
