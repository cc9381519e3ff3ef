// Imports Einsum as sums, transposes and batched products. Operands are combined from left to right.
//
// First the equation is brought to a form in which every letter occurs at most once in an operand. "..." is replaced by
// letters that the equation does not use, aligned at the right. If a letter occurs twice in an operand, its diagonal is
// taken. If a dimension has size 1, and the same letter has another size in another operand, the dimension is removed,
// which broadcasts it. For x: [3, 1, 4, 4] and y: [5, 4]:
//
//   "...ii,...i->...i"      ABii,Bi->ABi, the diagonal: ABi,Bi->ABi, and without the B of x, which is 1: Ai,Bi->ABi
//
// For a pair of operands, every letter is one of: batch (in both, kept), contracted (in both, not kept), free (in one,
// kept), or summed away (in one, not kept). The left operand is brought to [batch, free, contracted], the right one to
// [batch, contracted, free]; the product is a matmul.
#include "compiler/Import/ONNX/Operators/Contraction.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

struct Labeled {
  Value value;
  std::string labels; // one letter for each dimension
};

struct Equation {
  llvm::SmallVector<std::string> inputs;
  std::string output;
};

constexpr llvm::StringLiteral kEllipsis = "...";

// Returns the equation as it is written, with ellipses.
FailureOr<Equation> readEquation(OpContext &op, const std::string &text) {
  auto [left, right] = llvm::StringRef(text).split("->");
  Equation equation;
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  for (llvm::StringRef term : terms)
    equation.inputs.push_back(term.str());
  equation.output = right.str();
  // Implicit output: the letters for "...", then the letters that occur once, in alphabetical order.
  if (left.size() == text.size()) {
    equation.output = left.contains(kEllipsis) ? kEllipsis.str() : "";
    for (char c = 'A'; c <= 'z'; ++c)
      if (llvm::isAlpha(c) && llvm::count(left, c) == 1)
        equation.output += c;
  }
  if (equation.inputs.size() != op.numInputs())
    return op.fail("the equation " + quote(text) + " has " + llvm::Twine(equation.inputs.size()) + " operands; got " +
                   llvm::Twine(op.numInputs()));
  return equation;
}

// Replaces each "..." by letters that the equation does not use. The largest ellipsis of the operands gets all of
// `letters`, a smaller one those at the right end.
FailureOr<std::string> expandEllipses(OpContext &op, const std::string &text, Equation &equation) {
  std::string spare;
  for (char c = 'A'; c <= 'z'; ++c)
    if (llvm::isAlpha(c) && !llvm::StringRef(text).contains(c))
      spare += c;
  llvm::SmallVector<int64_t> sizes;
  int64_t widest = 0;
  for (auto [i, term] : llvm::enumerate(equation.inputs)) {
    bool isOpen = llvm::StringRef(term).contains(kEllipsis);
    int64_t size = isOpen ? rankOf(op.value(i)) - int64_t(term.size() - kEllipsis.size()) : 0;
    if (size < 0 || size > int64_t(spare.size()))
      return op.fail("the equation " + quote(text) + " does not fit operand " + llvm::Twine(i) + " of shape " +
                     formatShape(shapeOf(op.value(i))));
    sizes.push_back(size);
    widest = std::max(widest, size);
  }
  std::string letters = spare.substr(0, size_t(widest));
  auto expand = [&](std::string &term, int64_t size) {
    if (size_t at = term.find(kEllipsis.str()); at != std::string::npos)
      term.replace(at, kEllipsis.size(), letters.substr(letters.size() - size_t(size)));
  };
  for (auto [term, size] : llvm::zip_equal(equation.inputs, sizes))
    expand(term, size);
  expand(equation.output, widest);
  return letters;
}

LogicalResult checkLetters(OpContext &op, const std::string &text, const Equation &equation, llvm::StringRef ellipsis) {
  auto isLetter = [](char c) { return llvm::isAlpha(c); };
  bool areLetters = llvm::all_of(equation.output, isLetter);
  for (const std::string &term : equation.inputs)
    areLetters &= llvm::all_of(term, isLetter);
  if (!areLetters)
    return op.fail("the equation " + quote(text) +
                   " is not supported: expected letters, and at most one ellipsis a term");
  if (!ellipsis.empty() && !llvm::StringRef(equation.output).contains(ellipsis))
    return op.fail("the equation " + quote(text) +
                   " is not supported: the output has no ellipsis, and operands have one");
  for (char c : equation.output)
    if (llvm::count(equation.output, c) != 1)
      return op.fail("the equation " + quote(text) + " is not supported: the output has the letter '" + llvm::Twine(c) +
                     "' twice");
  return success();
}

bool has(llvm::StringRef labels, char c) { return labels.contains(c); }

// Sums over the letters that `kept` does not contain.
Labeled sumAway(Emitter &emit, Labeled x, llvm::StringRef kept) {
  Shape dims;
  std::string left;
  for (auto [dim, c] : llvm::enumerate(x.labels)) {
    if (has(kept, c))
      left += c;
    else
      dims.push_back(int64_t(dim));
  }
  return {emit.reduce(ReduceKind::Sum, x.value, dims), left};
}

Value arrange(Emitter &emit, const Labeled &x, llvm::StringRef order) {
  Shape permutation;
  for (char c : order)
    permutation.push_back(int64_t(x.labels.find(c)));
  return emit.transpose(x.value, permutation);
}

int64_t sizeOf(const Labeled &x, llvm::StringRef letters) {
  int64_t size = 1;
  for (char c : letters)
    size *= shapeOf(x.value)[x.labels.find(c)];
  return size;
}

FailureOr<Labeled> multiply(OpContext &op, Labeled a, Labeled b, llvm::StringRef kept) {
  Emitter &emit = op.emit;
  a = sumAway(emit, a, kept.str() + b.labels);
  b = sumAway(emit, b, kept.str() + a.labels);
  std::string batch, contracted, freeA, freeB;
  for (char c : a.labels)
    (!has(b.labels, c) ? freeA : has(kept, c) ? batch : contracted) += c;
  for (char c : b.labels)
    if (!has(a.labels, c))
      freeB += c;
  Shape shape;
  for (char c : batch + freeA + freeB)
    shape.push_back(has(a.labels, c) ? sizeOf(a, llvm::StringRef(&c, 1)) : sizeOf(b, llvm::StringRef(&c, 1)));
  int64_t n = sizeOf(a, batch), rows = sizeOf(a, freeA), inner = sizeOf(a, contracted), columns = sizeOf(b, freeB);
  Value x = emit.reshape(arrange(emit, a, batch + freeA + contracted), {n, rows, inner});
  Value y = emit.reshape(arrange(emit, b, batch + contracted + freeB), {n, inner, columns});
  FailureOr<Value> product = isFloat(x) ? emit.matmul(x, y) : emitMatMul(op, x, y);
  if (failed(product))
    return failure();
  return Labeled{emit.reshape(*product, shape), batch + freeA + freeB};
}

// Removes dimensions in which an operand has size 1 and another operand has another size, which may be 0.
void dropBroadcast(Emitter &emit, llvm::MutableArrayRef<Labeled> operands) {
  for (char c = 'A'; c <= 'z'; ++c) {
    int64_t common = 1;
    for (const Labeled &operand : operands)
      if (int64_t size = has(operand.labels, c) ? sizeOf(operand, llvm::StringRef(&c, 1)) : 1; size != 1)
        common = size;
    for (Labeled &operand : operands) {
      size_t dim = operand.labels.find(c);
      if (common == 1 || dim == std::string::npos || shapeOf(operand.value)[dim] != 1)
        continue;
      operand.value = emit.reshape(operand.value, reducedShape(shapeOf(operand.value), {int64_t(dim)}, false));
      operand.labels.erase(dim, 1);
    }
  }
}

// Takes the diagonal of dimensions with the same letter. Elements beside it are not added, even with a factor of 0,
// because they may be an infinity or NaN.
Labeled takeDiagonals(Emitter &emit, Labeled x) {
  for (size_t dim = 0; dim < x.labels.size();) {
    size_t first = x.labels.find(x.labels[dim]);
    if (first == dim) {
      ++dim;
      continue;
    }
    auto type = typeOf(x.value).clone(emit.i64());
    Value here = emit.compare(Predicate::Eq, emit.iota(int64_t(first), type), emit.iota(int64_t(dim), type));
    x.value = emit.reduce(ReduceKind::Sum, emit.select(here, x.value, emit.splat(0, typeOf(x.value))), {int64_t(dim)});
    x.labels.erase(dim, 1);
  }
  return x;
}

LogicalResult checkOperands(OpContext &op, const Equation &equation) {
  for (size_t i = 0; i < equation.inputs.size(); ++i)
    if (Value value = op.value(i); rankOf(value) != int64_t(equation.inputs[i].size()))
      return op.fail("operand " + llvm::Twine(i) + " of shape " + formatShape(shapeOf(value)) +
                     " must have one letter a dimension; the equation gives it " +
                     llvm::Twine(equation.inputs[i].size()));
  return success();
}

LogicalResult checkSizes(OpContext &op, llvm::ArrayRef<Labeled> operands, llvm::StringRef output) {
  int64_t sizes[128];
  std::fill(std::begin(sizes), std::end(sizes), -1);
  for (const Labeled &operand : operands) {
    for (auto [c, size] : llvm::zip(operand.labels, shapeOf(operand.value))) {
      int64_t &known = sizes[size_t(c)];
      if (known >= 0 && known != size)
        return op.fail("letter '" + llvm::Twine(c) + "' stands for sizes " + llvm::Twine(known) + " and " +
                       llvm::Twine(size));
      known = size;
    }
  }
  for (char c : output)
    if (sizes[size_t(c)] < 0)
      return op.fail("letter '" + llvm::Twine(c) + "' of the output is in no operand");
  return success();
}

// True if an operand has size 1 where another one has a different size.
bool isBroadcast(OpContext &op, const Equation &equation) {
  llvm::DenseMap<char, int64_t> sizes;
  for (size_t i = 0; i < equation.inputs.size(); ++i)
    for (auto [c, size] : llvm::zip(equation.inputs[i], shapeOf(op.value(i))))
      if (sizes.try_emplace(c, size).first->second != size)
        return true;
  return false;
}

// True if only the result is rounded, because the computation is one sum or one product.
bool isOneStep(const Equation &equation) {
  if (equation.inputs.size() == 1)
    return true;
  if (equation.inputs.size() > 2)
    return false;
  const std::string &a = equation.inputs[0], &b = equation.inputs[1];
  auto meets = [&](char c, llvm::StringRef other) { return has(other, c) || has(equation.output, c); };
  return llvm::all_of(a, [&](char c) { return meets(c, b); }) && llvm::all_of(b, [&](char c) { return meets(c, a); });
}

LogicalResult importEinsum(OpContext &op) {
  std::string text = op.stringAttr("equation", "");
  llvm::erase_if(text, [](char c) { return c == ' '; });
  auto equation = readEquation(op, text);
  if (failed(equation))
    return failure();
  auto ellipsis = expandEllipses(op, text, *equation);
  if (failed(ellipsis) || failed(checkLetters(op, text, *equation, *ellipsis)) || failed(checkOperands(op, *equation)))
    return failure();
  mlir::Type element = elementOf(op.value(0));
  if (!isOneStep(*equation) || isBroadcast(op, *equation))
    op.computeInF32();
  // Narrow integers are added in 32 bits. The lower bits of the sums are the same.
  bool isNarrow = !isFloat(op.value(0)) && element.getIntOrFloatBitWidth() < 32;
  llvm::SmallVector<Labeled> operands;
  for (auto [i, labels] : llvm::enumerate(equation->inputs)) {
    Labeled operand{isNarrow ? op.emit.cast(op.value(i), op.emit.builder.getI32Type()) : op.value(i), labels};
    if (failed(checkSizes(op, operand, "")))
      return failure();
    operands.push_back(takeDiagonals(op.emit, operand));
  }
  dropBroadcast(op.emit, operands);
  if (failed(checkSizes(op, operands, equation->output)))
    return failure();
  // The letters of the output and of the operands after each one, each letter once.
  std::vector<std::string> kept(operands.size(), equation->output);
  for (size_t i = operands.size() - 1; i-- > 0;) {
    kept[i] = kept[i + 1];
    llvm::copy_if(operands[i + 1].labels, std::back_inserter(kept[i]), [&](char c) { return !has(kept[i], c); });
  }
  Labeled result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    auto product = multiply(op, result, operands[i], kept[i]);
    if (failed(product))
      return failure();
    result = *product;
  }
  result = sumAway(op.emit, result, equation->output);
  Value y = arrange(op.emit, result, equation->output);
  return op.result(isNarrow ? op.emit.cast(y, element) : y);
}

} // namespace

void cleave::onnx_import::addEinsumOperators(OperatorTable &table) { table.add("Einsum", 13, importEinsum); }
