#include "test/compiler/Sharding/mutation/Elements.h"

#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Trigonometry.h"

using namespace mlir;

namespace cleave::test {

using List = Elements::List;
using Id = Elements::Id;
using Index = llvm::SmallVector<int64_t>;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Calls `visit` for every index of `shape`, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  Index index(shape.size(), 0);
  for (int64_t count = ShapedType::getNumElements(shape); count > 0; --count) {
    visit(index);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

int64_t flat(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  int64_t at = 0;
  for (auto [i, size] : llvm::zip_equal(index, shape))
    at = at * size + i;
  return at;
}

// For an index of the result, the index of the operand's element that is there. Null if the op does not only move
// elements.
using Source = std::function<Index(llvm::ArrayRef<int64_t>)>;

Source sourceOf(Operation *op) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return [broadcast](llvm::ArrayRef<int64_t> at) mutable {
      Index from;
      for (int64_t dim : broadcast.getDims())
        from.push_back(at[dim]);
      return from;
    };
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return [transpose](llvm::ArrayRef<int64_t> at) mutable {
      Index from(at.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        from[dim] = at[i];
      return from;
    };
  if (auto slice = dyn_cast<SliceOp>(op))
    return [slice](llvm::ArrayRef<int64_t> at) mutable {
      Index from;
      for (auto [i, start, step] : llvm::zip_equal(at, slice.getStarts(), slice.getSteps()))
        from.push_back(start + i * step);
      return from;
    };
  return nullptr;
}

List constantElements(DenseElementsAttr attribute) {
  List elements;
  auto hash = [](const llvm::APInt &bits) { return mix(bits.getBitWidth(), bits.getZExtValue()); };
  if (isa<FloatType>(attribute.getElementType()))
    for (const llvm::APFloat &value : attribute.getValues<llvm::APFloat>())
      elements.push_back(hash(value.bitcastToAPInt()));
  else
    for (const llvm::APInt &value : attribute.getValues<llvm::APInt>())
      elements.push_back(hash(value));
  return elements;
}

} // namespace

bool isElementwise(Operation *op) {
  return isa<NegOp, AbsOp, SignOp, ExpOp, Expm1Op, LogOp, Log1pOp, SqrtOp, RsqrtOp, TanhOp, ErfOp, SigmoidOp, SinOp,
             CosOp, AsinOp, AcosOp, AtanOp, FloorOp, CeilOp, RoundOp, ReluOp, NotOp, AddOp, SubOp, MulOp, DivOp, PowOp,
             MaxOp, MinOp, RemOp, AndOp, OrOp, XorOp, CompareOp, SelectOp, CastOp>(op);
}

uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a ^= a >> 31;
  return a * 0xff51afd7ed558ccdull;
}

bool Elements::canHold(ModuleOp module) {
  auto isSmall = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.getNumElements() <= 4096;
  };
  return !module
              .walk([&](Operation *op) {
                bool areSmall = llvm::all_of(op->getResultTypes(), isSmall);
                if (auto state = dyn_cast<StateOp>(op))
                  areSmall = isSmall(state.getTensorType());
                return areSmall ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

List Elements::of(Id value, RankedTensorType type) const {
  if (auto known = lists_.find(value); known != lists_.end() && static_cast<int64_t>(known->second.size()) == type.getNumElements())
    return known->second;
  List elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(mix(value, i));
  return elements;
}

Id Elements::name(const List &elements, RankedTensorType type) {
  Id made = mix(type.getRank(), elements.size());
  for (int64_t size : type.getShape())
    made = mix(made, size);
  for (Id element : elements)
    made = mix(made, element);
  lists_.try_emplace(made, elements);
  return made;
}

Id Elements::zipped(llvm::ArrayRef<Id> values, RankedTensorType type, llvm::function_ref<Id(List)> combine) {
  std::vector<List> operands;
  for (Id value : values)
    operands.push_back(of(value, type));
  List elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    List terms;
    for (const List &operand : operands)
      terms.push_back(operand[i]);
    elements.push_back(combine(std::move(terms)));
  }
  return name(elements, type);
}

Id Elements::part(Id value, RankedTensorType from, RankedTensorType type, int64_t dim, int64_t index) {
  List whole = of(value, from), elements;
  forEachIndex(type.getShape(), [&](llvm::ArrayRef<int64_t> at) {
    Index source(at);
    source[dim] += index * type.getDimSize(dim);
    elements.push_back(whole[flat(source, from.getShape())]);
  });
  return name(elements, type);
}

Id Elements::joined(llvm::ArrayRef<Id> values, llvm::ArrayRef<RankedTensorType> from, RankedTensorType type, int64_t dim) {
  std::vector<List> parts;
  for (auto [value, partType] : llvm::zip_equal(values, from))
    parts.push_back(of(value, partType));
  List elements;
  forEachIndex(type.getShape(), [&](llvm::ArrayRef<int64_t> at) {
    Index source(at);
    size_t i = 0;
    for (; source[dim] >= from[i].getDimSize(dim); ++i)
      source[dim] -= from[i].getDimSize(dim);
    elements.push_back(parts[i][flat(source, from[i].getShape())]);
  });
  return name(elements, type);
}

Id Elements::run(Operation *op, Id what, llvm::ArrayRef<Id> operands) {
  RankedTensorType type = typeOf(op->getResult(0));
  if (auto constant = dyn_cast<ConstantOp>(op))
    if (auto dense = dyn_cast<DenseElementsAttr>(Attribute(constant.getValue())))
      return name(constantElements(dense), type);
  if (isa<ReshapeOp, OffloadOp>(op))
    return name(of(operands[0], typeOf(op->getOperand(0))), type);
  if (Source source = sourceOf(op)) {
    RankedTensorType from = typeOf(op->getOperand(0));
    List whole = of(operands[0], from), elements;
    forEachIndex(type.getShape(), [&](llvm::ArrayRef<int64_t> at) { elements.push_back(whole[flat(source(at), from.getShape())]); });
    return name(elements, type);
  }
  if (auto concat = dyn_cast<ConcatOp>(op))
    return joined(operands, llvm::map_to_vector(op->getOperands(), typeOf), type, concat.getDim());
  if (isElementwise(op)) {
    Id kind = what;
    std::vector<List> lists;
    for (auto [operand, value] : llvm::zip_equal(operands, op->getOperands()))
      lists.push_back(of(operand, typeOf(value)));
    List elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Id element = kind;
      for (const List &list : lists)
        element = mix(element, list[i]);
      elements.push_back(element);
    }
    return name(elements, type);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    RankedTensorType from = typeOf(op->getOperand(0));
    List whole = of(operands[0], from), elements(type.getNumElements(), what);
    llvm::ArrayRef<int64_t> dims = reduce.getDims();
    int64_t i = 0;
    forEachIndex(from.getShape(), [&](llvm::ArrayRef<int64_t> at) {
      Index kept;
      for (auto [dim, place] : llvm::enumerate(at))
        if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
          kept.push_back(place);
      Id &element = elements[flat(kept, type.getShape())];
      element = mix(element, whole[i++]);
    });
    return name(elements, type);
  }
  Id made = what;
  for (Id operand : operands)
    made = mix(made, operand);
  return name(of(made, type), type);
}

} // namespace cleave::test
