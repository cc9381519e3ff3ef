#include "compiler/Codegen/CUDA/ConstantOffsets.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

// How deep operands of operands are examined: the vector's position is added to a lane's place, which is added to the
// block's.
static constexpr unsigned kDepth = 4;

// True if the extended sum is the sum of the extended operands.
static bool isExact(const BinaryOperator *sum, bool isSigned) {
  if (const auto *disjoint = dyn_cast<PossiblyDisjointInst>(sum))
    return disjoint->isDisjoint();
  return sum->getOpcode() == Instruction::Add && (isSigned ? sum->hasNoSignedWrap() : sum->hasNoUnsignedWrap());
}

namespace {
// A number as the sum of `rest` and `constant`.
struct Split {
  Value *rest;
  int64_t constant;
};
} // namespace

// Returns a copy of `operation` with a smaller operand at `position`. An `or` of numbers that share no bit becomes a
// sum, because the smaller operand may share some.
static Value *withOperand(BinaryOperator *operation, unsigned position, Value *operand, IRBuilder<> &builder) {
  if (operation->getOpcode() == Instruction::Or)
    return builder.CreateAdd(operation->getOperand(1 - position), operand, "", /*HasNUW=*/true);
  auto *copy = cast<BinaryOperator>(operation->clone());
  copy->setOperand(position, operand);
  return builder.Insert(copy);
}

// Takes the constants out of `value` that are terms of it, if there are some, and if extending both parts is the same
// as extending the whole. If a sum of unsigned numbers does not overflow, it does not overflow without a term either.
// So constants may be deep inside: that of a vector's position, and that of a copy of a loop's body. This does not hold
// for signed numbers: there the constant must be a term of the whole.
static std::optional<Split> takeConstant(Value *value, bool isSigned, IRBuilder<> &builder, unsigned depth = 0) {
  auto *operation = dyn_cast<BinaryOperator>(value);
  if (!operation)
    return std::nullopt;
  auto *number = dyn_cast<ConstantInt>(operation->getOperand(1));
  if (operation->getOpcode() == Instruction::Shl) { // of unsigned numbers, by places that keep all their bits
    if (isSigned || !number || !operation->hasNoUnsignedWrap() || depth == kDepth)
      return std::nullopt;
    std::optional<Split> inner = takeConstant(operation->getOperand(0), isSigned, builder, depth + 1);
    if (!inner)
      return std::nullopt;
    return Split{withOperand(operation, 0, inner->rest, builder), inner->constant << number->getZExtValue()};
  }
  if (!isExact(operation, isSigned))
    return std::nullopt;
  if (number && (isSigned || !number->isNegative())) {
    Split whole{operation->getOperand(0), number->getSExtValue()};
    if (isSigned || depth == kDepth)
      return whole;
    std::optional<Split> inner = takeConstant(whole.rest, isSigned, builder, depth + 1);
    return inner ? Split{inner->rest, whole.constant + inner->constant} : whole;
  }
  if (number || isSigned || depth == kDepth)
    return std::nullopt;
  int64_t constant = 0;
  for (unsigned position : {0, 1})
    if (std::optional<Split> inner = takeConstant(operation->getOperand(position), isSigned, builder, depth + 1)) {
      operation = cast<BinaryOperator>(withOperand(operation, position, inner->rest, builder));
      constant += inner->constant;
    }
  return constant == 0 ? std::nullopt : std::optional(Split{operation, constant});
}

// Extends the index of an address as an unsigned number if it is not negative, so that neighbours are extended alike.
static CastInst *asUnsigned(GetElementPtrInst *address, CastInst *index) {
  if (!isa<SExtInst>(index) || !address->hasNoUnsignedWrap())
    return index;
  auto *extension =
      CastInst::Create(Instruction::ZExt, index->getOperand(0), index->getType(), "", address->getIterator());
  extension->setNonNeg();
  address->setOperand(1, extension);
  RecursivelyDeleteTriviallyDeadInstructions(index);
  return extension;
}

static void splitConstantOffset(GetElementPtrInst *address) {
  auto *index = dyn_cast<CastInst>(address->getOperand(1));
  if (!index || !isa<ZExtInst, SExtInst>(index))
    return;
  index = asUnsigned(address, index);
  bool isSigned = isa<SExtInst>(index);
  IRBuilder<> builder(address);
  std::optional<Split> parts = takeConstant(index->getOperand(0), isSigned, builder);
  if (!parts)
    return;
  Type *element = address->getSourceElementType(), *wide = index->getType();
  Value *rest = isSigned ? builder.CreateSExt(parts->rest, wide) : builder.CreateZExt(parts->rest, wide);
  Value *base = builder.CreateGEP(element, address->getPointerOperand(), rest);
  Value *whole = builder.CreateGEP(element, base, ConstantInt::getSigned(wide, parts->constant));
  whole->takeName(address);
  address->replaceAllUsesWith(whole);
  address->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(index);
}

void cleave::splitConstantOffsets(Function &function) {
  SmallVector<GetElementPtrInst *> addresses;
  for (Instruction &instruction : instructions(function))
    if (auto *address = dyn_cast<GetElementPtrInst>(&instruction); address && address->getNumIndices() == 1)
      addresses.push_back(address);
  for (GetElementPtrInst *address : addresses)
    splitConstantOffset(address);
}
