// Queries and verifiers of the mesh and of shardings.
#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/StringSet.h"

using namespace cleave;
using mlir::ArrayAttr;
using mlir::StringAttr;

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

int64_t MeshAttr::getIndex(llvm::StringRef axis) const {
  for (auto [index, name] : llvm::enumerate(getNames()))
    if (name.getValue() == axis)
      return index;
  return -1;
}

int64_t MeshAttr::getSize(llvm::StringRef axis) const {
  int64_t index = getIndex(axis);
  return index < 0 ? 1 : getSizes()[index];
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

mlir::LogicalResult MeshAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                     llvm::ArrayRef<StringAttr> names, llvm::ArrayRef<int64_t> sizes) {
  if (names.size() != sizes.size())
    return emitError() << "a mesh has one size for every axis; got: " << names.size() << " names and " << sizes.size()
                       << " sizes";
  llvm::StringSet<> seen;
  int64_t ranks = 1;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (name.getValue().empty())
      return emitError() << "a mesh axis must have a name; got: \"\"";
    if (!seen.insert(name.getValue()).second)
      return emitError() << "mesh axes have different names; got: " << name << " twice";
    if (size < 1)
      return emitError() << "a mesh axis has at least one rank; got: " << size << " for " << name;
    if (llvm::MulOverflow(ranks, size, ranks) || ranks > std::numeric_limits<int32_t>::max())
      return emitError() << "a mesh has at most 2^31 - 1 ranks; got: more with " << size << " for " << name;
  }
  return mlir::success();
}

// `<["dp", "tp"], [2, 4]>`. A generated parser would not accept empty lists.
mlir::Attribute MeshAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::SmallVector<StringAttr> names;
  llvm::SmallVector<int64_t> sizes;
  auto parseName = [&] { return parser.parseAttribute(names.emplace_back()); };
  auto parseSize = [&] { return parser.parseInteger(sizes.emplace_back()); };
  using Delimiter = mlir::AsmParser::Delimiter;
  if (parser.parseLess() || parser.parseCommaSeparatedList(Delimiter::Square, parseName) || parser.parseComma() ||
      parser.parseCommaSeparatedList(Delimiter::Square, parseSize) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), llvm::ArrayRef(names),
                    llvm::ArrayRef(sizes));
}

void MeshAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getNames(), printer);
  printer << "], [";
  llvm::interleaveComma(getSizes(), printer);
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// ShardingAttr
//===----------------------------------------------------------------------===//

static llvm::SmallVector<llvm::StringRef> axisNames(ArrayAttr axes) {
  llvm::SmallVector<llvm::StringRef> names;
  if (axes)
    for (mlir::Attribute axis : axes)
      if (auto name = llvm::dyn_cast<StringAttr>(axis)) // an integer is the number of blocks
        names.push_back(name.getValue());
  return names;
}

ShardingAttr ShardingAttr::replicated(mlir::MLIRContext *context, int64_t rank) {
  llvm::SmallVector<mlir::Attribute> dims(rank, ArrayAttr::get(context, {}));
  return get(ArrayAttr::get(context, dims));
}

bool ShardingAttr::isReplicated() const {
  return (!getPartial() || getPartial().empty()) && !isOwned() &&
         llvm::all_of(getDims(), [](mlir::Attribute axes) { return llvm::cast<ArrayAttr>(axes).empty(); });
}

llvm::SmallVector<llvm::StringRef> ShardingAttr::getDimAxes(int64_t dim) const {
  return axisNames(llvm::cast<ArrayAttr>(getDims()[dim]));
}

static mlir::IntegerAttr splitFactorOf(mlir::Attribute list) {
  auto axes = llvm::dyn_cast<ArrayAttr>(list);
  return axes && !axes.empty() ? llvm::dyn_cast<mlir::IntegerAttr>(axes[0]) : mlir::IntegerAttr();
}

int64_t ShardingAttr::getSplitFactor(int64_t dim) const {
  mlir::IntegerAttr blocks = splitFactorOf(getDims()[dim]);
  return blocks ? blocks.getInt() : 1;
}

bool ShardingAttr::hasSplitFactor() const {
  return llvm::any_of(getDims(), [](mlir::Attribute list) { return splitFactorOf(list) != nullptr; });
}

ArrayAttr ShardingAttr::getDim(mlir::MLIRContext *context, int64_t blocks, llvm::ArrayRef<llvm::StringRef> axes) {
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::Attribute> list;
  if (blocks > 1 && !axes.empty())
    list.push_back(builder.getI64IntegerAttr(blocks));
  for (llvm::StringRef axis : axes)
    list.push_back(builder.getStringAttr(axis));
  return builder.getArrayAttr(list);
}

llvm::SmallVector<llvm::StringRef> ShardingAttr::getPartialAxes() const { return axisNames(getPartial()); }

llvm::SmallVector<llvm::StringRef> ShardingAttr::getOwnerAxes() const { return axisNames(getOwner()); }

ShardingAttr ShardingAttr::withDims(ArrayAttr dims) const {
  return get(getContext(), dims, getPartial(), getKind(), getOwner());
}

mlir::RankedTensorType ShardingAttr::getLocalType(mlir::RankedTensorType global, MeshAttr mesh) const {
  llvm::SmallVector<int64_t> shape(global.getShape());
  for (auto [dim, size] : llvm::enumerate(shape))
    for (llvm::StringRef axis : getDimAxes(dim))
      size /= mesh.getSize(axis);
  return mlir::RankedTensorType::get(shape, global.getElementType());
}

// An axis splits one dimension, or is partial, or has an owner, because a rank has one place in a value.
static mlir::LogicalResult verifyAxes(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, mlir::Attribute list,
                                      llvm::StringSet<> &seen) {
  auto axes = llvm::dyn_cast<ArrayAttr>(list);
  if (!axes)
    return emitError() << "a sharding lists axis names for every dimension; got: " << list;
  for (mlir::Attribute axis : axes) {
    auto name = llvm::dyn_cast<StringAttr>(axis);
    if (!name)
      return emitError() << "a mesh axis is a string; got: " << axis;
    if (!seen.insert(name.getValue()).second)
      return emitError() << "a sharding uses each axis once; got: " << name << " twice";
  }
  return mlir::success();
}

mlir::LogicalResult ShardingAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, ArrayAttr dims,
                                         ArrayAttr partial, ReduceKind kind, ArrayAttr owner) {
  llvm::StringSet<> seen;
  for (mlir::Attribute axes : dims) {
    if (mlir::IntegerAttr blocks = splitFactorOf(axes)) {
      auto list = llvm::cast<ArrayAttr>(axes);
      if (!blocks.getType().isSignlessInteger(64) || blocks.getInt() < 2 || list.size() < 2)
        return emitError() << "a dimension's blocks are at least 2, before the axes that split them; got: " << axes;
      axes = ArrayAttr::get(axes.getContext(), list.getValue().drop_front());
    }
    if (mlir::failed(verifyAxes(emitError, axes, seen)))
      return mlir::failure();
  }
  if (partial && mlir::failed(verifyAxes(emitError, partial, seen)))
    return mlir::failure();
  if (!owner)
    return mlir::success();
  if (owner.empty())
    return emitError() << "an owner is of at least one axis; got: " << owner;
  return verifyAxes(emitError, owner, seen);
}
