#include "compiler/Import/ONNX/Operators/TorchGradients.h"
#include "compiler/Import/ONNX/File/Metadata.h"
#include "dialects/Cleave/IR/StopGradient.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using namespace cleave::onnx_import;

constexpr int kNodeMetadata = 9; // NodeProto.metadata_props

TorchCall cleave::onnx_import::torchCallOf(const onnx::NodeProto &node) {
  std::string text =
      findMetadata(node, kNodeMetadata, [](llvm::StringRef key) { return key == "pkg.torch.onnx.fx_node"; });
  llvm::StringRef rest = text;
  TorchCall call;
  rest = rest.split("[target=torch.ops.").second;
  auto [target, after] = rest.split("](args = (");
  call.target = target.str();
  for (llvm::StringRef argument : llvm::split(after.split("), kwargs").first, ','))
    if (!argument.trim().empty())
      call.arguments.push_back(argument.trim().str());
  return call;
}

double cleave::onnx_import::labelSmoothingOf(const onnx::NodeProto &loss) {
  constexpr size_t kPlace = 5; // (input, target, weight, reduction, ignore_index, label_smoothing)
  TorchCall call = torchCallOf(loss);
  double smoothing = 0;
  if (llvm::StringRef(call.target).starts_with("aten.cross_entropy_loss.") && call.arguments.size() > kPlace)
    (void)llvm::to_float(call.arguments[kPlace], smoothing);
  return smoothing >= 0 && smoothing <= 1 ? smoothing : 0;
}

// True if a parameter or other state reaches the value. A value without one has no gradient to stop, and keeps its
// form, by which for example a count of labels is recognized.
static bool isOfParameters(Value value) {
  llvm::SmallVector<Value> open = {value};
  llvm::DenseSet<Value> seen;
  Budget &budget = Budget::of(value.getContext());
  while (!open.empty() && budget.draw(Budget::Kind::Work, 1)) {
    auto *op = open.pop_back_val().getDefiningOp();
    if (llvm::isa_and_nonnull<ReadOp>(op))
      return true;
    if (op)
      for (Value operand : op->getOperands())
        if (seen.insert(operand).second)
          open.push_back(operand);
  }
  return false;
}

static Value stop(Emitter &emit, Value value) { return emit.unary<StopGradientOp>(value); }

// Returns `value`, without its gradient where the condition is true.
static Value stopWhere(Emitter &emit, Value condition, Value value) {
  return emit.select(condition, stop(emit, value), value);
}

// Returns an embedding's rows, without the gradient of those at the index `padding`.
static Value withoutPadding(Emitter &emit, Value rows, Value indices, int64_t padding) {
  Value isPadding = emit.compare(Predicate::Eq, emit.cast(indices, emit.i64()), double(padding));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(indices)));
  return stopWhere(emit, emit.broadcastDims(isPadding, shapeOf(rows), dims), rows);
}

// True if the value is a reduction of x over this dimension alone.
static bool isReducedOver(Value value, Value x, int64_t dim) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  auto reduction = value.getDefiningOp<ReduceOp>();
  return reduction && reduction.getOperand() == x && reduction.getDims() == llvm::ArrayRef(dim);
}

// For x.max(dim) and x.min(dim), the gradient goes only to the element whose index they return, not to all equal
// elements. The operator decides the value: a call that names another dimension than the operator is not followed.
static Value picked(Emitter &emit, Value x, Value result, const TorchCall &call, bool smallest) {
  int64_t dim = 0, rank = rankOf(x);
  if (call.arguments.size() < 2 || !llvm::to_integer(call.arguments[1], dim) || dim < -rank || dim >= rank)
    return {};
  dim += dim < 0 ? rank : 0;
  if (!isReducedOver(result, x, dim))
    return {};
  Shape kept = reducedShape(shapeOf(x), {dim}, /*keepDims=*/true);
  bool keeps = shapeOf(result) == llvm::ArrayRef<int64_t>(kept);
  auto type = RankedTensorType::get(reducedShape(shapeOf(x), {dim}, false), emit.i64());
  Value best = emit.make<ArgMaxOp>(type, smallest ? emit.neg(x) : x, emit.builder.getI64IntegerAttr(dim));
  Value index = emit.broadcastTo(emit.reshape(best, kept), shapeOf(x));
  Value isBest = emit.compare(Predicate::Eq, emit.iota(dim, typeOf(x).clone(emit.i64())), index);
  return emit.reduce(ReduceKind::Sum, emit.select(isBest, x, emit.splat(0, typeOf(x))), {dim}, keeps);
}

// Returns `end` where the condition is true, and `value` elsewhere. The op that computes `value` gets the number 1 where
// it is not used: its own derivative may be infinite (the logarithm of 0), and 0 times infinity is no number.
static Value endWhere(Emitter &emit, Value condition, Value end, Value value) {
  auto *op = value.getDefiningOp();
  if (llvm::isa_and_nonnull<LogOp, SqrtOp, PowOp>(op)) {
    Value x = op->getOperand(0);
    Value inside = emit.select(condition, emit.splat(1, typeOf(x)), x);
    op = emit.builder.clone(*op);
    op->setOperand(0, inside);
    value = op->getResult(0);
  }
  return emit.select(condition, end, value);
}

// True for clamp, clamp_min and clamp_max.
static bool isClamp(llvm::StringRef target) { return target.starts_with("aten.clamp"); }

// True for files of PyTorch's exporters before 2.15. Its clamp gives the whole gradient to a number that equals a bound.
static bool isBefore215(const onnx::ModelProto &model) {
  auto [major, rest] = llvm::StringRef(model.producer_version()).split('.');
  unsigned majorNumber = 0, minorNumber = 0;
  return model.producer_name() == "pytorch" && llvm::to_integer(major, majorNumber, 10) &&
         llvm::to_integer(rest.take_while(llvm::isDigit), minorNumber, 10) &&
         std::pair(majorNumber, minorNumber) < std::pair(2u, 15u);
}

// True where x is not inside of the bound: beyond it or equal to it, or where one of the two is no number.
static Value isOutside(Emitter &emit, Value x, Value bound, bool isLower) {
  return emit.unary<NotOp>(emit.compare(isLower ? Predicate::Gt : Predicate::Lt, x, bound));
}

// Returns max(x, bound) or min(x, bound) with the gradient of clamp before 2.15: that of x where they are equal.
static Value clampedBefore215(Emitter &emit, Value x, Value bound, Value result, bool isLower) {
  Value isNumber = emit.compare(Predicate::Eq, bound, bound);
  Value clamped = isLower ? emit.atLeast(x, bound) : emit.atMost(x, bound);
  return emit.select(isNumber, clamped, stop(emit, result));
}

// Returns the result with the gradient that the call has and the operator does not, or null if there is no difference.
static Value withGradientOfCall(Emitter &emit, const TorchCall &call, const onnx::NodeProto &node, bool isOld,
                                Value result, llvm::function_ref<Value(int)> input) {
  llvm::StringRef operation = node.op_type(), target = call.target;
  int64_t padding = -1;
  if (operation == "Identity" && target.starts_with("aten.detach."))
    return stop(emit, result);
  if (operation == "Gather" && target.starts_with("aten.embedding.") && call.arguments.size() > 2 &&
      llvm::to_integer(call.arguments[2], padding) && padding >= 0)
    return withoutPadding(emit, result, input(1), padding);
  if ((operation == "ReduceMax" && target.starts_with("aten.max.dim")) ||
      (operation == "ReduceMin" && target.starts_with("aten.min.dim")))
    return picked(emit, input(0), result, call, operation == "ReduceMin");
  bool isBound = (operation == "Max" || operation == "Min") && isClamp(target) && node.input_size() == 2 &&
                 call.arguments.size() > 1;
  if (isBound && isOld)
    return clampedBefore215(emit, input(0), input(1), result, operation == "Max");
  // Bounds that are integers in PyTorch's source. Bounds that are tensors share the gradient where they are equal.
  if (isBound && llvm::all_of(llvm::drop_begin(call.arguments), [](llvm::StringRef argument) {
        return argument.starts_with("%scalar_tensor") || argument == "None";
      }))
    return endWhere(emit, isOutside(emit, input(0), input(1), operation == "Max"), stop(emit, result), input(0));
  // A norm of zeros has no derivative, and PyTorch takes 0.
  if (operation == "Pow" && target.starts_with("aten.linalg_vector_norm."))
    return endWhere(emit, emit.compare(Predicate::Eq, result, 0), stop(emit, result), result);
  return {};
}

// True if a number that equals a bound of this Clip has its gradient. The importer makes a Clip of that form.
static bool passesAtBounds(const onnx::NodeProto &node, llvm::StringRef target, bool isOld) {
  bool hasTwoBounds = node.input_size() > 2 && !node.input(1).empty() && !node.input(2).empty();
  return isOld && (target.empty() ? !hasTwoBounds : isClamp(target));
}

// A clipped number has no gradient, nor has one that equals a bound: clamp (since PyTorch 2.15), relu6 and hardtanh
// agree in that. Exporters write Clip for them, if the bounds are no integers. The bound has the gradient in its place:
// it may be a parameter. If the lower bound is above the upper one, the result is the upper one.
static Value clippedGradient(Emitter &emit, const onnx::NodeProto &node, Value result,
                             llvm::function_ref<Value(int)> input) {
  Value isClipped, end;
  for (auto [i, predicate] : {std::pair(1, Predicate::Le), {2, Predicate::Ge}})
    if (i < node.input_size() && !node.input(i).empty()) {
      Value bound = emit.reshape(input(i), {}), atBound = emit.compare(predicate, result, bound);
      end = emit.select(atBound, bound, end ? end : stop(emit, result));
      isClipped = isClipped ? emit.make<OrOp>(atBound.getType(), isClipped, atBound) : atBound;
    }
  return isClipped ? endWhere(emit, isClipped, end, input(0)) : Value();
}

LogicalResult cleave::onnx_import::applyTorchGradient(const FlatNode &node, const onnx::ModelProto &model,
                                                      Environment &environment, OpContext &op) {
  Emitter &emit = op.emit;
  llvm::StringRef operation = node.proto->op_type();
  constexpr llvm::StringLiteral kOperators[] = {"Identity", "Gather", "Clip",      "Max",
                                                "Min",      "Pow",    "ReduceMax", "ReduceMin"};
  if (!llvm::is_contained(kOperators, operation) || node.proto->output_size() != 1)
    return llvm::success();
  TorchCall call = torchCallOf(*node.proto);
  llvm::StringRef target = call.target;
  bool isClip = operation == "Clip", isOld = isBefore215(model);
  if (isClip && passesAtBounds(*node.proto, target, isOld))
    return llvm::success();
  if ((target.empty() && !isClip) || environment.binding(node.proto->output(0)).isKnown())
    return llvm::success();
  Value result = environment.value(node.proto->output(0));
  if (!result || !llvm::isa<mlir::FloatType>(elementOf(result)) || !isOfParameters(result))
    return llvm::success();
  if (operation == "Gather" && op.intAttr("axis", 0) != 0)
    return llvm::success(); // no embedding
  bool isEmbedding = operation == "Gather" && target.starts_with("aten.embedding.");
  if (isEmbedding && call.arguments.size() > 3 && call.arguments[3] == "True")
    return op.fail(
        "scale_grad_by_freq=True, which divides a row's gradient by how often the batch uses the row, is not "
        "supported in training; export the model with scale_grad_by_freq=False");
  auto input = [&](int i) { return environment.value(node.proto->input(i)); };
  Value changed = isClip ? clippedGradient(emit, *node.proto, result, input)
                         : withGradientOfCall(emit, call, *node.proto, isOld, result, input);
  if (changed && changed.getType() == result.getType())
    environment.define(node.proto->output(0), Binding::computed(changed));
  return llvm::success();
}
