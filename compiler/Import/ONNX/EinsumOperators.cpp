// Einsum as sums, transposes and batched products. Operands are combined from left to right.
//
// For a pair, every letter is one of: batch (both, kept), contracted (both, not kept), free (one, kept), or summed away
// (one, not kept). The left operand is brought to [batch, free, contracted], the right one to [batch, contracted,
// free]; the product is a matmul.
#include "compiler/Import/ONNX/OperatorTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

struct Labeled {
  Value value;
  std::string labels; // one letter a dimension
};

struct Equation {
  llvm::SmallVector<std::string> inputs;
  std::string output;
};

FailureOr<Equation> parseEquation(OpContext &op) {
  std::string text = op.stringAttr("equation", "");
  llvm::erase_if(text, [](char c) { return c == ' '; });
  auto [left, right] = llvm::StringRef(text).split("->");
  Equation equation;
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  for (llvm::StringRef term : terms)
    equation.inputs.push_back(term.str());
  equation.output = right.str();
  if (left.size() == text.size()) // implicit output: letters that occur once, in order
    for (char c = 'A'; c <= 'z'; ++c)
      if (llvm::count(left, c) == 1)
        equation.output += c;
  for (const std::string &term : llvm::concat<const std::string>(equation.inputs, llvm::ArrayRef(equation.output)))
    for (char c : term)
      if (!llvm::isAlpha(c) || llvm::count(term, c) != 1)
        return op.fail("the equation " + quote(text) +
                       " is not supported: expected letters, each at most once an operand, and no ellipsis");
  if (equation.inputs.size() != op.numInputs())
    return op.fail("the equation " + quote(text) + " has " + llvm::Twine(equation.inputs.size()) + " operands; got " +
                   llvm::Twine(op.numInputs()));
  return equation;
}

bool has(llvm::StringRef labels, char c) { return labels.contains(c); }

// Sums over letters that `kept` lacks.
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

Labeled multiply(Emitter &emit, Labeled a, Labeled b, llvm::StringRef kept) {
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
  return {emit.reshape(emit.matmul(x, y), shape), batch + freeA + freeB};
}

LogicalResult checkSizes(OpContext &op, const Equation &equation) {
  int64_t sizes[128];
  std::fill(std::begin(sizes), std::end(sizes), -1);
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    Value value = op.value(i);
    if (!isFloat(value) || elementOf(value) != elementOf(op.value(0)) ||
        rankOf(value) != int64_t(equation.inputs[i].size()))
      return op.fail("operand " + llvm::Twine(i) + " of shape " + formatShape(shapeOf(value)) +
                     " must be floating point of the common type, with one letter a dimension");
    for (auto [c, size] : llvm::zip(equation.inputs[i], shapeOf(value))) {
      int64_t &known = sizes[size_t(c)];
      if (known >= 0 && known != size)
        return op.fail("letter '" + llvm::Twine(c) + "' stands for sizes " + llvm::Twine(known) + " and " +
                       llvm::Twine(size));
      known = size;
    }
  }
  for (char c : equation.output)
    if (sizes[size_t(c)] < 0)
      return op.fail("letter '" + llvm::Twine(c) + "' of the output is in no operand");
  return success();
}

LogicalResult importEinsum(OpContext &op) {
  auto equation = parseEquation(op);
  if (failed(equation) || failed(checkSizes(op, *equation)))
    return failure();
  Labeled result{op.value(0), equation->inputs[0]};
  for (size_t i = 1; i < equation->inputs.size(); ++i) {
    std::string kept = equation->output;
    for (size_t later = i + 1; later < equation->inputs.size(); ++later)
      kept += equation->inputs[later];
    result = multiply(op.emit, result, {op.value(i), equation->inputs[i]}, kept);
  }
  result = sumAway(op.emit, result, equation->output);
  return op.result(arrange(op.emit, result, equation->output));
}

} // namespace

void cleave::onnx_import::addEinsumOperators(OperatorTable &table) { table.add("Einsum", 13, importEinsum); }
