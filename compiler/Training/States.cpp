#include "compiler/Training/States.h"

#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/SymbolTable.h"
#include "runtime/plan/ScalarNames.h"

#include <map>

using namespace mlir;

namespace cleave {

StateOp lookupState(ModuleOp module, StringRef name) { return module.lookupSymbol<StateOp>(name); }
func::FuncOp lookupFunction(ModuleOp module, StringRef name) { return findFunction(module, name); }

StateOp addState(SymbolTable &symbols, StringRef name, RankedTensorType type, Role role, ArrayAttr segments,
                 StringRef slot) {
  auto module = cast<ModuleOp>(symbols.getOp());
  OpBuilder builder(module.getContext());
  // Searches from the end, because states are before the functions, which are few.
  auto states =
      llvm::make_filter_range(llvm::reverse(*module.getBody()), [](Operation &op) { return isa<StateOp>(op); });
  Block::iterator place =
      states.begin() == states.end() ? module.getBody()->begin() : std::next(Block::iterator(*states.begin()));
  StringAttr slotAttr = slot.empty() ? StringAttr() : builder.getStringAttr(slot);
  std::string symbol = name.str();
  while (symbols.lookup(symbol)) // a parameter of the model may be named `w.exp_avg`
    symbol += '_';
  auto state =
      StateOp::create(builder, module.getLoc(), builder.getStringAttr(symbol), TypeAttr::get(type),
                      RoleAttr::get(module.getContext(), role), segments, slotAttr, ShardingAttr(), UnitAttr());
  symbols.insert(state, place);
  return state;
}

StateOp getScalar(ModuleOp module, StringRef name, Type elementType) {
  if (StateOp state = lookupState(module, name))
    return state;
  MLIRContext *context = module.getContext();
  auto type = RankedTensorType::get({}, elementType);
  auto init = InitAttr::get(context, InitKind::Zeros, {}, {});
  auto segment = SegmentAttr::get(context, StringAttr::get(context, name), type, 0, 0, init, {});
  SymbolTable symbols(module);
  return addState(symbols, name, type, Role::Scalar, ArrayAttr::get(context, {segment}));
}

SegmentAttr onlySegment(StateOp state) { return cast<SegmentAttr>(state.getSegments()[0]); }

std::vector<std::string> namesOf(SegmentAttr segment) {
  std::vector<std::string> names = {segment.getName().getValue().str()};
  if (segment.getAliases())
    for (auto alias : segment.getAliases().getAsRange<StringAttr>())
      names.push_back(alias.getValue().str());
  return names;
}

StateOp findParameter(ModuleOp module, StringRef originalName) {
  for (auto state : module.getOps<StateOp>())
    if (state.getRole() == Role::Parameter && state.getSegments().size() == 1 &&
        llvm::is_contained(namesOf(onlySegment(state)), originalName))
      return state;
  return nullptr;
}

ArrayAttr beginningWith(ArrayAttr segments, double value) {
  MLIRContext *context = segments.getContext();
  auto init = value == 0 ? InitAttr::get(context, InitKind::Zeros, {}, {})
                         : InitAttr::get(context, InitKind::Constant, {}, Builder(context).getF64FloatAttr(value));
  SmallVector<Attribute> result;
  for (auto segment : segments.getAsRange<SegmentAttr>())
    result.push_back(SegmentAttr::get(context, segment.getName(), segment.getType(), segment.getOffset(),
                                      segment.getGroup(), init, segment.getAliases()));
  return ArrayAttr::get(context, result);
}

ArrayAttr retyped(ArrayAttr segments, Type element) {
  SmallVector<Attribute> result;
  for (auto s : segments.getAsRange<SegmentAttr>())
    result.push_back(SegmentAttr::get(s.getContext(), s.getName(), s.getType().clone(element), s.getOffset(),
                                      s.getGroup(), s.getInit(), s.getAliases()));
  return ArrayAttr::get(segments.getContext(), result);
}

Value readState(OpBuilder &builder, Location loc, StateOp state) {
  return ReadOp::create(builder, loc, state.getTensorType(), state.getSymName());
}

void mergeReads(func::FuncOp function) {
  llvm::StringMap<ReadOp> first;
  for (ReadOp read : llvm::make_early_inc_range(function.getBody().front().getOps<ReadOp>())) {
    auto [entry, isNew] = first.try_emplace(read.getState(), read);
    if (isNew)
      continue;
    read.replaceAllUsesWith(entry->second.getResult());
    read.erase();
  }
}

std::string gradientName(StringRef parameter) { return (parameter + ".grad").str(); }

StringRef parameterName(StateOp gradient) {
  StringRef name = gradient.getSymName();
  return name.consume_back(".grad") ? name : StringRef();
}

std::string furtherGradientName(StringRef gradient, unsigned chunk) {
  return (gradient + "." + chunkName(chunk)).str();
}

llvm::StringMap<SmallVector<StateOp>> furtherGradients(ModuleOp module) {
  llvm::StringMap<std::map<unsigned, StateOp, std::greater<>>> found;
  for (auto state : module.getOps<StateOp>()) {
    auto [name, chunk] = state.getSymName().rsplit('.');
    if (std::optional<unsigned> number = chunkNumber(chunk); number && state.getRole() == Role::Gradient)
      found[name][*number] = state;
  }
  llvm::StringMap<SmallVector<StateOp>> further;
  for (const auto &entry : found)
    for (auto [chunk, state] : entry.second)
      further[entry.getKey()].push_back(state);
  return further;
}

StateOp getParameterOf(const SymbolTable &symbols, StateOp gradient) {
  return symbols.lookup<StateOp>(parameterName(gradient));
}

bool areTransposed(RankedTensorType a, RankedTensorType b) {
  return a.getRank() == 2 && b.getRank() == 2 && a.getDimSize(0) == b.getDimSize(1) &&
         a.getDimSize(1) == b.getDimSize(0) && a.getElementType() == b.getElementType();
}

bool isMicroCounter(StateOp state) {
  StringRef name = state.getSymName();
  return name.consume_front(rt::kMicroScalar) && (name.empty() || (name.consume_front(".") && chunkNumber(name)));
}

bool isAccumulator(StateOp state) {
  if (state.getRole() == Role::Gradient || (state.getRole() == Role::Buffer && state.getSlot() == kSumSlot))
    return true;
  StringRef name = state.getSymName();
  return name == rt::kLossSumScalar || name == rt::kLossCountScalar || isMicroCounter(state);
}

} // namespace cleave
