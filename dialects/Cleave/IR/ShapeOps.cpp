// Verifiers and result types of the shape ops.
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Positional.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace cleave;
using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;

#define CLEAVE_INFER_ARGUMENTS                                                                                         \
  mlir::MLIRContext *context, std::optional<mlir::Location> location, mlir::ValueRange operands,                       \
      mlir::DictionaryAttr attributes, mlir::OpaqueProperties properties, mlir::RegionRange regions,                   \
      llvm::SmallVectorImpl<mlir::Type> &results

// Type inference runs before the verifiers, so it must handle wrong attributes.
static LogicalResult inferenceError(std::optional<mlir::Location> location, const llvm::Twine &message) {
  return mlir::emitOptionalError(location, message);
}

static LogicalResult verifySameElement(mlir::Operation *op, RankedTensorType operand, RankedTensorType result) {
  if (operand.getElementType() == result.getElementType())
    return success();
  return op->emitOpError("moves elements without changing their type; got: ") << operand << " -> " << result;
}

LogicalResult ReshapeOp::verify() {
  auto operand = getOperand().getType(), result = getResult().getType();
  if (operand.getNumElements() != result.getNumElements())
    return emitOpError("keeps the number of elements; got: ") << operand << " -> " << result;
  return verifySameElement(*this, operand, result);
}

//===----------------------------------------------------------------------===//
// transpose, broadcast
//===----------------------------------------------------------------------===//

static bool isPermutation(llvm::ArrayRef<int64_t> permutation, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= rank || seen[dim])
      return false;
    seen.set(dim);
  }
  return static_cast<int64_t>(permutation.size()) == rank;
}

LogicalResult TransposeOp::inferReturnTypes(CLEAVE_INFER_ARGUMENTS) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType type = tensorTypeOf(adaptor.getOperand());
  if (!isPermutation(adaptor.getPermutation(), type.getRank()))
    return inferenceError(location, "'cleave.transpose' op needs a permutation of the operand's " +
                                        llvm::Twine(type.getRank()) + " dimensions");
  llvm::SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getPermutation())
    shape.push_back(type.getDimSize(dim));
  results.push_back(type.clone(shape));
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto operand = getOperand().getType(), result = getResult().getType();
  llvm::ArrayRef<int64_t> dims = getDims();
  if (static_cast<int64_t>(dims.size()) != operand.getRank())
    return emitOpError("needs one result dimension for every operand dimension; got: ")
           << dims.size() << " for " << operand;
  int64_t previous = -1;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim <= previous || dim >= result.getRank())
      return emitOpError("dims increase strictly and lie in the result; got: ") << getDimsAttr();
    if (operand.getDimSize(i) != result.getDimSize(dim))
      return emitOpError("operand dimension ")
             << i << " equals result dimension " << dim << "; got: " << operand << " -> " << result;
    previous = dim;
  }
  return verifySameElement(*this, operand, result);
}

//===----------------------------------------------------------------------===//
// slice, concat, pad
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(CLEAVE_INFER_ARGUMENTS) {
  Adaptor adaptor(operands, attributes, properties, regions);
  for (int64_t size : adaptor.getSizes())
    if (size < 0)
      return inferenceError(location, "'cleave.slice' op sizes are not negative; got: " + llvm::Twine(size));
  results.push_back(tensorTypeOf(adaptor.getOperand()).clone(adaptor.getSizes()));
  return success();
}

LogicalResult SliceOp::verify() {
  auto operand = getOperand().getType();
  size_t rank = operand.getRank();
  if (getStarts().size() != rank || getSizes().size() != rank || getSteps().size() != rank)
    return emitOpError("needs a start, a size and a step for every dimension; got: ")
           << getStarts().size() << ", " << getSizes().size() << " and " << getSteps().size() << " for " << operand;
  for (auto [dim, start, size, step] : llvm::enumerate(getStarts(), getSizes(), getSteps())) {
    if (step < 1)
      return emitOpError("steps are positive; got: ") << step << " in dimension " << dim;
    int64_t last = operand.getDimSize(dim) - 1;
    if (start < 0 || (size > 0 && (start > last || size - 1 > (last - start) / step)))
      return emitOpError("reads inside its operand; got: ") << size << " elements from " << start << " on in steps of "
                                                            << step << ", of dimension " << dim << " of " << operand;
  }
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(CLEAVE_INFER_ARGUMENTS) {
  Adaptor adaptor(operands, attributes, properties, regions);
  int64_t dim = adaptor.getDim();
  if (operands.empty() || dim < 0 || dim >= tensorTypeOf(operands[0]).getRank())
    return inferenceError(
        location,
        "'cleave.concat' op needs operands that have dimension " + llvm::Twine(dim) + "; got: " +
            (operands.empty() ? llvm::Twine("none") : "rank " + llvm::Twine(tensorTypeOf(operands[0]).getRank())));
  llvm::SmallVector<int64_t> shape(tensorTypeOf(operands[0]).getShape());
  for (mlir::Value operand : operands.drop_front()) {
    if (tensorTypeOf(operand).getRank() != static_cast<int64_t>(shape.size()))
      return inferenceError(location,
                            "'cleave.concat' op operands have equal ranks; got: " + llvm::Twine(shape.size()) +
                                " and " + llvm::Twine(tensorTypeOf(operand).getRank()));
    std::optional<int64_t> sum = llvm::checkedAdd(shape[dim], tensorTypeOf(operand).getDimSize(dim));
    if (!sum)
      return inferenceError(location, "'cleave.concat' op has a result of at most 2^63 - 1 elements along a dimension; "
                                      "got: more along dimension " +
                                          llvm::Twine(dim));
    shape[dim] = *sum;
  }
  results.push_back(tensorTypeOf(operands[0]).clone(shape));
  return success();
}

LogicalResult ConcatOp::verify() {
  auto result = getResult().getType();
  for (mlir::Value operand : getOperands()) {
    RankedTensorType type = tensorTypeOf(operand);
    if (type.getRank() != result.getRank())
      return emitOpError("operands have the result's rank; got: ") << type << " -> " << result;
    for (int64_t dim = 0; dim < result.getRank(); ++dim)
      if (dim != static_cast<int64_t>(getDim()) && type.getDimSize(dim) != result.getDimSize(dim))
        return emitOpError("operands differ in dimension ") << getDim() << " only; got: " << type << " -> " << result;
    if (mlir::failed(verifySameElement(*this, type, result)))
      return failure();
  }
  return success();
}

LogicalResult PadOp::inferReturnTypes(CLEAVE_INFER_ARGUMENTS) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType type = tensorTypeOf(adaptor.getOperand());
  size_t rank = type.getRank();
  if (adaptor.getLow().size() != rank || adaptor.getHigh().size() != rank || adaptor.getInterior().size() != rank)
    return inferenceError(location, "'cleave.pad' op needs low, high and interior for every dimension; got: " +
                                        llvm::Twine(adaptor.getLow().size()) + ", " +
                                        llvm::Twine(adaptor.getHigh().size()) + " and " +
                                        llvm::Twine(adaptor.getInterior().size()) + " for rank " + llvm::Twine(rank));
  llvm::SmallVector<int64_t> shape;
  for (auto [size, low, high, interior] :
       llvm::zip_equal(type.getShape(), adaptor.getLow(), adaptor.getHigh(), adaptor.getInterior())) {
    if (low < 0 || high < 0 || interior < 0)
      return inferenceError(location,
                            "'cleave.pad' op low, high and interior are not negative (slice removes elements); got: " +
                                llvm::Twine(low) + ", " + llvm::Twine(high) + " and " + llvm::Twine(interior));
    std::optional<int64_t> padded = llvm::checkedMulAdd<int64_t>(size > 0 ? size - 1 : 0, interior, size);
    padded = padded ? llvm::checkedAdd(*padded, low) : padded;
    padded = padded ? llvm::checkedAdd(*padded, high) : padded;
    if (!padded)
      return inferenceError(location, "'cleave.pad' op has a result of at most 2^63 - 1 elements along a dimension");
    shape.push_back(*padded);
  }
  results.push_back(type.clone(shape));
  return success();
}

LogicalResult IotaOp::verify() {
  auto type = getResult().getType();
  if (static_cast<int64_t>(getDim()) < 0 || static_cast<int64_t>(getDim()) >= type.getRank())
    return emitOpError("dim is one of the result's; got: ") << static_cast<int64_t>(getDim()) << " for " << type;
  return verifyOrigin(*this, getOrigin(), type);
}
#undef CLEAVE_INFER_ARGUMENTS
