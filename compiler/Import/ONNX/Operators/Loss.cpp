#include "compiler/Import/ONNX/Operators/Loss.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Support/Usage.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Returns for example "f32 [8, 10]".
static std::string formatType(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream(text) << type.getElementType() << " ";
  return text + formatShape(type.getShape());
}

int64_t cleave::onnx_import::classDimOf(RankedTensorType predictions, std::optional<int64_t> chosen) {
  int64_t rank = predictions.getRank();
  if (!chosen)
    return rank <= 3 ? rank - 1 : 1;
  return *chosen < 0 ? *chosen + rank : *chosen;
}

mlir::Type cleave::onnx_import::labelsTypeFor(llvm::StringRef kind, RankedTensorType predictions,
                                              std::optional<int64_t> classDim, ErrorList &errors) {
  if (!llvm::isa<mlir::FloatType>(predictions.getElementType())) {
    errors.add(usageError("--loss", kind + " needs a floating-point first output; got " + formatType(predictions) +
                                        ". Put the predictions first, or give --loss-output NAME where the model "
                                        "computes its loss itself"));
    return nullptr;
  }
  if (kind == "mse")
    return predictions;
  if (kind != "cross-entropy" && kind != "nll") {
    errors.add(usageError("--loss", quote(kind) + " is not known; expected cross-entropy, nll or mse"));
    return nullptr;
  }
  if (predictions.getRank() < 2) {
    errors.add(usageError("--loss", kind + " needs a first output of 2 or more dimensions, [batch, classes]; got shape " +
                                        formatShape(predictions.getShape()) +
                                        ". Put the class scores first, or give --loss mse"));
    return nullptr;
  }
  int64_t dim = classDimOf(predictions, classDim);
  if (dim < 1 || dim >= predictions.getRank()) {
    errors.add(usageError("--loss-class-dim",
                          "expected a dimension of the first output that has the classes, 1" +
                              (predictions.getRank() == 2 ? "" : " to " + std::to_string(predictions.getRank() - 1)) +
                              " of shape " + formatShape(predictions.getShape()) + "; got " +
                              std::to_string(*classDim)));
    return nullptr;
  }
  return RankedTensorType::get(reducedShape(predictions.getShape(), {dim}, false),
                               mlir::IntegerType::get(predictions.getContext(), 64));
}

static Shape allDims(Value value) { return Shape(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(value)))); }

Value cleave::onnx_import::emitCounted(Emitter &emit, Value labels, std::optional<int64_t> ignored) {
  if (!ignored)
    return Value();
  Value number = emit.literal(Literal::ofInts(emit.i64(), {}, {*ignored})); // exact for all of i64
  return emit.compare(Predicate::Ne, emit.cast(labels, emit.i64()), emit.broadcastTo(number, shapeOf(labels)));
}

Value cleave::onnx_import::emitPickable(Emitter &emit, Value labels, Value counted) {
  if (!counted)
    return labels;
  return emit.select(counted, emit.cast(labels, emit.i64()), emit.splat(-1, typeOf(counted).clone(emit.i64())));
}

Value cleave::onnx_import::emitLabelWeights(Emitter &emit, Value weights, Value counted, RankedTensorType type) {
  if (!counted)
    return weights;
  return emit.select(counted, weights ? weights : emit.splat(1, type), emit.splat(0, type));
}

Value cleave::onnx_import::emitMeanLoss(Emitter &emit, Value losses, Value weights) {
  if (!weights)
    return emit.mean(losses, allDims(losses));
  return emit.div(emit.reduce(ReduceKind::Sum, losses, allDims(losses)),
                  emit.reduce(ReduceKind::Sum, weights, allDims(weights)));
}

Value cleave::onnx_import::emitPickedLoss(Emitter &emit, Value logProbabilities, Value labels, int64_t dim) {
  auto type = typeOf(logProbabilities);
  Shape others;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != dim)
      others.push_back(i);
  Value classes = emit.iota(dim, type.clone(emit.i64()));
  Value wanted = emit.broadcastDims(emit.cast(labels, emit.i64()), type.getShape(), others);
  Value picked = emit.select(emit.compare(Predicate::Eq, classes, wanted), logProbabilities, emit.splat(0, type));
  return emit.neg(emit.reduce(ReduceKind::Sum, picked, {dim}));
}

Value cleave::onnx_import::emitLoss(Emitter &emit, llvm::StringRef kind, Value predictions, Value labels,
                                    std::optional<int64_t> ignored, std::optional<int64_t> classDim) {
  if (elementOf(predictions).getIntOrFloatBitWidth() < 32) // f16 has too few digits for a count of labels
    predictions = emit.cast(predictions, emit.builder.getF32Type());
  if (kind == "mse") {
    Value difference = emit.sub(predictions, emit.cast(labels, elementOf(predictions)));
    return emit.mean(emit.mul(difference, difference), allDims(difference));
  }
  int64_t dim = classDimOf(typeOf(predictions), classDim);
  Value logs = kind == "cross-entropy" ? emit.logSoftmax(predictions, dim) : predictions;
  labels = checkLabels(emit, labels, shapeOf(predictions)[dim], ignored);
  Value counted = emitCounted(emit, labels, ignored);
  Value losses = emitPickedLoss(emit, logs, emitPickable(emit, labels, counted), dim);
  Value weights = emitLabelWeights(emit, Value(), counted, typeOf(losses));
  return emitMeanLoss(emit, weights ? emit.mul(losses, weights) : losses, weights);
}

static bool isScalarFloat(Value value) { return isFloat(value) && typeOf(value).getNumElements() == 1; }

static std::string outputNames(const onnx::GraphProto &graph) {
  std::string names;
  for (const auto &output : graph.output())
    names += (names.empty() ? "" : ", ") + quote(output.name());
  return names;
}

std::optional<size_t> cleave::onnx_import::findLoss(const onnx::GraphProto &graph, llvm::ArrayRef<Value> results,
                                                    llvm::StringRef name, ErrorList &errors) {
  std::optional<size_t> found;
  size_t scalars = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    bool added = i >= size_t(graph.output_size()); // by --loss
    llvm::StringRef output = added ? "loss" : llvm::StringRef(graph.output(int(i)).name());
    if (output == (name.empty() ? "loss" : name)) {
      if (isScalarFloat(results[i]))
        return i;
      errors.add("the loss output " + quote(output) + " must be one floating-point number; got " +
                 formatType(typeOf(results[i])) +
                 ". Reduce it in the model by a mean or a sum, or give another output by --loss-output NAME");
      return std::nullopt;
    }
    if (isScalarFloat(results[i]) && ++scalars == 1)
      found = i;
  }
  if (name.empty() && scalars == 1)
    return found;
  errors.add(name.empty() ? makeError("training needs a loss, and no output is one; give --loss-output NAME, or --loss "
                                      "cross-entropy|nll|mse to add one")
                          : usageError("--loss-output",
                                       quote(name) + " is not an output of the model; it has " + outputNames(graph)));
  return std::nullopt;
}
