// Part of ModulePlan: states and constants, with their addresses and their entries in the plan.
#include "compiler/Planning/Build/ModulePlan.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace cleave::plan {

static SegmentAttr convertSegment(cleave::SegmentAttr segment) {
  InitAttr init = segment.getInit();
  StringAttr source = init.getSource(), axis;
  if (init.getKind() == cleave::InitKind::Coordinate)
    std::swap(source, axis);
  return SegmentAttr::get(segment.getContext(), segment.getName(), segment.getType(), segment.getOffset(),
                          segment.getGroup(), static_cast<InitKind>(init.getKind()), source, init.getValue(), axis,
                          segment.getAliases());
}

LogicalResult ModulePlan::layOutStates() {
  FailureOr<llvm::StringMap<PackedState>> found = findPackedStates(module, options);
  if (failed(found))
    return failure();
  packed = std::move(*found);
  for (cleave::StateOp state : llvm::make_early_inc_range(module.getOps<cleave::StateOp>()))
    if (failed(addState(state)))
      return failure();
  return success();
}

// The wire format cuts a state evenly in row-major order, as a split of the first dimension does.
LogicalResult ModulePlan::addState(cleave::StateOp state) {
  RankedTensorType type = state.getTensorType();
  llvm::SmallVector<StringRef> split, partial;
  if (auto storage = state.getStorage()) {
    partial = storage->getPartialAxes();
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      llvm::SmallVector<StringRef> axes = storage->getDimAxes(dim);
      if (dim > 0 && !axes.empty())
        return state.emitError("expected a state to be stored split on dimension 0 only; got: ") << *storage;
      split.append(axes.begin(), axes.end());
    }
  }
  int64_t elements = type.getNumElements(), ranks = ranksOn(split);
  if (elements % ranks != 0)
    return state.emitError("expected a number of elements that the ranks of its storage share evenly; got: ")
           << elements << " over " << ranks;
  bool isHost = state->hasAttr(kOffloadedAttr);
  uint64_t &end = bytesOfRegion(RegionKind::Persistent, isHost);
  StateAddress address{end, static_cast<uint64_t>(elements / ranks * elementBytes(type.getElementType())), isHost};
  end = llvm::alignTo(end + address.bytes, kStateAlignment);
  states[state.getSymName()] = address;
  roles[state.getSymName()] = static_cast<Role>(state.getRole());

  llvm::SmallVector<Attribute> segments;
  for (auto segment : state.getSegments().getAsRange<cleave::SegmentAttr>())
    segments.push_back(convertSegment(segment));
  plan::StateOp::create(builder, state.getLoc(), state.getSymName(),
                        RankedTensorType::get({elements}, type.getElementType()), static_cast<Role>(state.getRole()),
                        regionName(RegionKind::Persistent, isHost), address.offset, builder.getArrayAttr(segments),
                        state.getSlotAttr(), split.empty() ? ArrayAttr() : axisNames(split),
                        partial.empty() ? ArrayAttr() : axisNames(partial));
  return success();
}

std::optional<ModulePlan::StateAddress> ModulePlan::findState(StringRef name) const {
  auto found = states.find(name);
  return found == states.end() ? std::nullopt : std::optional<StateAddress>(found->second);
}

const PackedState *ModulePlan::findPacked(Value value) const {
  auto read = value.getDefiningOp<ReadOp>();
  auto found = read ? packed.find(read.getState()) : packed.end();
  return found == packed.end() ? nullptr : &found->second;
}

// Kinds with the same constant have one state of one name, so that what they compute from it is one value, too.
static std::string digestOf(DenseElementsAttr value) {
  llvm::SHA256 hash;
  std::string type;
  llvm::raw_string_ostream(type) << value.getType();
  hash.update(type);
  ArrayRef<char> bytes = value.getRawData();
  hash.update(StringRef(bytes.data(), bytes.size()));
  return llvm::toHex(llvm::ArrayRef(hash.final()).take_front(16), /*LowerCase=*/true);
}

FailureOr<ModulePlan::StateAddress> ModulePlan::addConstant(DenseElementsAttr value, Location loc) {
  if (auto known = constants.find(value); known != constants.end())
    return *findState(known->second);
  if (!options.constants)
    return emitError(loc, "a constant is left outside of kernels, and the weights cannot take it");
  auto type = cast<RankedTensorType>(value.getType());
  std::string name = "constant.kernel." + digestOf(value);
  uint64_t &end = bytesOfRegion(RegionKind::Persistent);
  StateAddress address{end, bytesOf(type)};
  end = llvm::alignTo(end + address.bytes, kStateAlignment);
  auto segment = SegmentAttr::get(builder.getContext(), builder.getStringAttr(name), type, 0, 0, InitKind::Weights,
                                  StringAttr(), FloatAttr(), StringAttr(), ArrayAttr());
  plan::StateOp::create(builder, loc, name, RankedTensorType::get({type.getNumElements()}, type.getElementType()),
                        Role::Constant, regionName(RegionKind::Persistent), address.offset,
                        builder.getArrayAttr({Attribute(segment)}), StringAttr(), ArrayAttr(), ArrayAttr());
  options.constants(name, value);
  constants[value] = name;
  states[name] = address;
  return address;
}

// Adds to `read` the states whose first access in the program is a read. `accessed` are those that were met before.
static void findFirstReads(ModuleOp module, func::FuncOp function, llvm::StringSet<> &accessed,
                           llvm::StringSet<> &read) {
  if (auto calls = function->getAttrOfType<ArrayAttr>(kCallsAttr))
    for (auto call : calls.getAsRange<DictionaryAttr>())
      findFirstReads(module, findFunction(module, call.getAs<StringAttr>("program").getValue()), accessed, read);
  for (Operation &op : function.getBody().front()) {
    if (auto reading = dyn_cast<ReadOp>(op); reading && accessed.insert(reading.getState()).second)
      read.insert(reading.getState());
    if (auto write = dyn_cast<WriteOp>(op))
      accessed.insert(write.getState());
  }
}

bool ModulePlan::survives(StringRef state) {
  if (!surviving) {
    surviving.emplace();
    for (auto function : module.getOps<func::FuncOp>())
      if (llvm::StringSet<> accessed; function->hasAttr(kEntryAttr))
        findFirstReads(module, function, accessed, *surviving);
  }
  return surviving->contains(state);
}

} // namespace cleave::plan
