#include "compiler/Import/ONNX/OpContext.h"
#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"
#include "compiler/Import/ONNX/StaticOperands.h"

#include "llvm/ADT/SmallSet.h"

using namespace cleave::onnx_import;
using llvm::failure;
using llvm::FailureOr;

bool OpContext::has(size_t i) const { return i < numInputs() && !node_.proto->input(int(i)).empty(); }

static bool isHalf(Value value) { return isFloat(value) && elementOf(value).getIntOrFloatBitWidth() < 32; }

// Returns the value in f32, by one cast for all its uses in the node. With several casts, the gradient of each would be
// rounded before they are added. The list of users begins with the newest, so the search ends at the first user of
// another node.
static Value widened(Emitter &emit, Value value) {
  for (mlir::Operation *user : value.getUsers()) {
    if (user->getLoc() != emit.loc || user->getBlock() != emit.builder.getInsertionBlock())
      break;
    if (auto cast = llvm::dyn_cast<cleave::CastOp>(user); cast && elementOf(cast.getResult()).isF32())
      return cast.getResult();
  }
  return emit.cast(value, emit.builder.getF32Type());
}

Value OpContext::value(size_t i) {
  Value value = has(i) ? environment_.value(node_.proto->input(int(i))) : Value();
  return value && narrow_ && isHalf(value) ? widened(emit, value) : value;
}

void OpContext::computeInF32() {
  if (isHalf(value(0)))
    narrow_ = elementOf(value(0));
}

llvm::SmallVector<Value> OpContext::values() {
  llvm::SmallVector<Value> values;
  for (size_t i = 0; i < numInputs(); ++i)
    if (has(i))
      values.push_back(value(i));
  return values;
}

const Literal *OpContext::literal(size_t i) {
  if (!has(i))
    return nullptr;
  const Binding &binding = environment_.binding(node_.proto->input(int(i)));
  return binding.kind == Binding::Kind::Known ? binding.known.get() : nullptr;
}

const Binding::Sequence *OpContext::sequence(size_t i) {
  if (!has(i))
    return nullptr;
  Binding &binding = environment_.binding(node_.proto->input(int(i)));
  return binding.kind == Binding::Kind::Sequence ? binding.elements.get() : nullptr;
}

llvm::StringRef OpContext::state(size_t i) {
  return has(i) ? llvm::StringRef(environment_.binding(node_.proto->input(int(i))).symbol) : "";
}

const onnx::AttributeProto *OpContext::attribute(llvm::StringRef name) const {
  for (const auto &attribute : node_.proto->attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

std::optional<int64_t> OpContext::intAttr(llvm::StringRef name) const {
  const onnx::AttributeProto *found = attribute(name);
  bool isThere = found && (found->has_i() || found->type() == onnx::AttributeProto::INT);
  return isThere ? std::optional<int64_t>(found->i()) : std::nullopt;
}

std::optional<double> OpContext::floatAttr(llvm::StringRef name) const {
  const onnx::AttributeProto *found = attribute(name);
  bool isThere = found && (found->has_f() || found->type() == onnx::AttributeProto::FLOAT);
  return isThere ? std::optional<double>(found->f()) : std::nullopt;
}

int64_t OpContext::intAttr(llvm::StringRef name, int64_t otherwise) const { return intAttr(name).value_or(otherwise); }

double OpContext::floatAttr(llvm::StringRef name, double otherwise) const {
  // The standard's defaults are floats, too. So 0.01 is the same number whether it is written or omitted.
  return floatAttr(name).value_or(static_cast<float>(otherwise));
}

std::string OpContext::stringAttr(llvm::StringRef name, llvm::StringRef otherwise) const {
  const onnx::AttributeProto *found = attribute(name);
  return found && (found->has_s() || found->type() == onnx::AttributeProto::STRING) ? found->s() : otherwise.str();
}

std::optional<Shape> OpContext::intsAttr(llvm::StringRef name) const {
  const onnx::AttributeProto *found = attribute(name);
  if (!found || (found->ints_size() == 0 && found->type() != onnx::AttributeProto::INTS))
    return std::nullopt;
  return Shape(found->ints().begin(), found->ints().end());
}

FailureOr<std::optional<Shape>> OpContext::ints(llvm::StringRef name, size_t i) {
  if (auto attribute = intsAttr(name))
    return attribute;
  if (!has(i))
    return std::optional<Shape>();
  StaticOperand known = staticOperand(*this, i);
  if (!known || known->isFloat() || known->rank() > 1 || known->numElements() > 1024)
    return fail("`" + name + "` (input " + llvm::Twine(i) + ") must be an integer vector known at compile time; got " +
                (known ? "a tensor of shape " + formatShape(known->shape()) : known.reason));
  return std::optional<Shape>(Shape(llvm::ArrayRef<int64_t>(known->ints())));
}

FailureOr<std::optional<double>> OpContext::number(llvm::StringRef name, size_t i) {
  if (auto real = floatAttr(name))
    return real;
  if (auto integer = intAttr(name))
    return std::optional<double>(double(*integer));
  if (!has(i))
    return std::optional<double>();
  StaticOperand known = staticOperand(*this, i);
  if (!known || known->numElements() != 1)
    return fail("`" + name + "` (input " + llvm::Twine(i) + ") must be one number known at compile time; got " +
                (known ? "a tensor of shape " + formatShape(known->shape()) : known.reason));
  return std::optional<double>(known->asReal(0));
}

LogicalResult OpContext::checkRank(llvm::ArrayRef<int64_t> shape) {
  if (int64_t(shape.size()) <= kMaxRank)
    return success();
  return fail("its result has " + llvm::Twine(shape.size()) + " dimensions; at most " + llvm::Twine(kMaxRank) +
              " are supported");
}

LogicalResult OpContext::result(size_t i, Value value) {
  if (failed(checkRank(shapeOf(value))))
    return failure();
  if (!countElements(shapeOf(value)))
    return fail("its result of shape " + formatShape(shapeOf(value)) + " has more than 2^46 elements");
  define(i, Binding::computed(narrow_ && isFloat(value) ? emit.cast(value, narrow_) : value));
  return success();
}

LogicalResult OpContext::result(Literal literal) {
  if (failed(checkRank(literal.shape())))
    return failure();
  define(0, Binding::literal(std::move(literal)));
  return success();
}

void OpContext::define(size_t i, Binding binding) {
  if (wants(i))
    environment_.define(node_.proto->output(int(i)), std::move(binding));
}

LogicalResult OpContext::fail(const llvm::Twine &reason) {
  errors_.add(describe() + ": " + reason);
  return failure();
}

FailureOr<int64_t> OpContext::axis(int64_t axis, int64_t rank, bool inclusive) {
  int64_t end = rank + (inclusive ? 1 : 0);
  if (axis < -rank - (inclusive ? 1 : 0) || axis >= end)
    return fail("axis " + llvm::Twine(axis) + " does not exist in a tensor of rank " + llvm::Twine(rank));
  return axis < 0 ? axis + end : axis;
}

FailureOr<Shape> OpContext::axisList(const std::optional<Shape> &axes, int64_t rank, size_t count) {
  Shape list = axes ? *axes : Shape(llvm::to_vector(llvm::seq<int64_t>(0, int64_t(count))));
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t &given : list) {
    auto dim = axis(given, rank);
    if (failed(dim))
      return failure();
    if (!seen.insert(*dim).second)
      return fail("axis " + llvm::Twine(*dim) + " is given twice; give each axis once");
    given = *dim;
  }
  return list;
}

FailureOr<Shape> OpContext::axes(llvm::ArrayRef<int64_t> axes, int64_t rank) {
  auto list = axisList(Shape(axes), rank, 0);
  if (!failed(list))
    llvm::sort(*list);
  return list;
}

static std::string elementTypeText(Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << elementOf(value);
  return text;
}

FailureOr<Shape> OpContext::commonShape(llvm::ArrayRef<Value> values) {
  Shape shape;
  for (Value value : values) {
    if (elementOf(value) != elementOf(values[0]))
      return fail("inputs have different element types: " + elementTypeText(values[0]) + " and " +
                  elementTypeText(value));
    auto common = broadcastShapes(shape, shapeOf(value));
    if (!common)
      return fail("shapes " + formatShape(shape) + " and " + formatShape(shapeOf(value)) +
                  " do not broadcast; if one of them holds the batch size of the export, export with a dynamic batch");
    shape = *common;
  }
  return shape;
}

LogicalResult OpContext::expectFloat(Value value) {
  if (isFloat(value))
    return success();
  return fail("an input of " + formatTypes(tensorOf(elementOf(value))) +
              " is allowed by the standard, but Cleave has this operator for floating-point numbers alone; put a Cast to "
              "float before it, and one back after it");
}

LogicalResult OpContext::expectRank(Value value, int64_t low, int64_t high) {
  int64_t rank = rankOf(value);
  if (rank >= low && rank <= high)
    return success();
  return fail("expected an input of rank " + llvm::Twine(low) + (low == high ? "" : " to " + llvm::Twine(high).str()) +
              "; got shape " + formatShape(shapeOf(value)));
}
