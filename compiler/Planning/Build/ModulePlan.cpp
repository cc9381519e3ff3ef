#include "compiler/Planning/Build/ModulePlan.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/plan/Properties.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cleave::plan {

// Returns the name of the kind. The exception is `snapshot`, which is the name of a program.
std::string regionName(RegionKind kind, bool isHost) {
  return (isHost ? "host." : "") + (kind == RegionKind::Snapshot ? "state_copy" : stringifyRegionKind(kind).str());
}
std::string stageBufferRegionName(int64_t frames, bool isHost) {
  return regionName(RegionKind::Residual, isHost) + "." + std::to_string(frames);
}
uint64_t bytesOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return type.getNumElements() * elementBytes(type.getElementType());
}

ModulePlan::ModulePlan(ModuleOp module, const PlanningOptions &options)
    : module(module), options(options), mesh(module->getAttrOfType<MeshAttr>(kMeshAttr)), kind(RankKind::of(module)),
      builder(OpBuilder::atBlockBegin(module.getBody())) {}

ArrayAttr ModulePlan::axisNames(ArrayRef<StringRef> axes) { return builder.getStrArrayAttr(axes); }

int64_t ModulePlan::ranksOn(ArrayRef<StringRef> axes) const {
  int64_t ranks = 1;
  for (StringRef axis : axes)
    ranks *= mesh ? mesh.getSize(axis) : 1;
  return ranks;
}

FlatSymbolRefAttr ModulePlan::group(ArrayRef<StringRef> axes) {
  auto [known, isNew] = groups.try_emplace(std::vector<std::string>(axes.begin(), axes.end()), "");
  if (isNew) {
    known->second = "group." + llvm::join(axes, ".");
    GroupOp::create(builder, module.getLoc(), known->second, axisNames(axes), /*only=*/DictionaryAttr());
  }
  return FlatSymbolRefAttr::get(builder.getContext(), known->second);
}

uint64_t ModulePlan::inputOffset(StringRef name, Type type) {
  std::string key = name.str();
  llvm::raw_string_ostream(key) << " " << type;
  uint64_t &end = bytesOfRegion(RegionKind::Input);
  auto [known, isNew] = inputs.try_emplace(key, end);
  if (isNew)
    end = llvm::alignTo(end + std::max<uint64_t>(bytesOf(type), 1), kBufferAlignment); // an empty one has a place, too
  return known->second;
}

uint64_t ModulePlan::stageBufferOffset(StringRef stageBuffer, int64_t frames, uint64_t bytes, bool isHost) {
  uint64_t &end = stageBufferBytes[isHost][frames];
  auto [known, isNew] = stageBuffers.try_emplace(stageBufferKey(stageBuffer, bytes, isHost), end);
  if (isNew)
    end = llvm::alignTo(end + std::max<uint64_t>(bytes, 1), kBufferAlignment);
  return known->second;
}

FlatSymbolRefAttr ModulePlan::event(StringRef name, int64_t frames) {
  if (events.insert(name).second)
    EventOp::create(builder, module.getLoc(), name, frames);
  return FlatSymbolRefAttr::get(builder.getContext(), name);
}

// The inputs have a frame for each micro-batch.
void ModulePlan::emitTables() {
  auto count = module->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
  int64_t microBatches = count ? count.getInt() : 1;
  OpBuilder front = OpBuilder::atBlockBegin(module.getBody());
  llvm::SmallVector<StringRef> axes;
  llvm::SmallVector<int64_t> sizes;
  if (mesh) {
    for (StringAttr axis : mesh.getNames())
      axes.push_back(axis.getValue());
    sizes.append(mesh.getSizes().begin(), mesh.getSizes().end());
  }
  llvm::SmallVector<StringRef> streams;
  for (unsigned stream = 0; stream < kStreams; ++stream)
    if (usesStream[stream])
      streams.push_back(kStreamNames[stream]);
  auto header = HeaderOp::create(
      front, module.getLoc(), options.target, options.threads, axisNames(axes), sizes, axisNames(streams),
      /*data_axes=*/ArrayAttr(), microBatches,
      /*batch=*/0, /*options=*/DictionaryAttr(), /*param_groups=*/ArrayAttr(), kind.getName(), kind.getWhere());
  llvm::SmallVector<NamedAttribute> properties;
  for (const auto &[key, value] : options.properties)
    properties.push_back(front.getNamedAttr(key, front.getStringAttr(value)));
  if (auto evaluation = module->getAttrOfType<DictionaryAttr>(kEvaluationAttr))
    for (StringRef key : {rt::kDivisorProperty, rt::kCountProperty, rt::kBatchesProperty})
      if (Attribute text = evaluation.get(key.split('.').second)) // `divisor` is the property evaluate.divisor
        properties.push_back(front.getNamedAttr(key, text));
  if (!properties.empty())
    header.setOptionsAttr(front.getDictionaryAttr(properties));
  if (auto groups = module->getAttrOfType<ArrayAttr>(kParamGroupsAttr))
    header.setParamGroupsAttr(groups);
  for (auto input : module.getOps<ProgramOp>())
    for (auto port : input.getOps<InputOp>())
      if (port.getBatchDim() >= 0 && header.getBatch() == 0) {
        header.setBatch(cast<RankedTensorType>(port.getType()).getDimSize(port.getBatchDim()));
        header.setDataAxesAttr(port.getSplitAxesAttr());
      }
  for (bool isHost : {false, true})
    for (size_t i = 0; i < regionBytes[isHost].size(); ++i) {
      auto kind = static_cast<RegionKind>(i);
      int64_t frames = kind == RegionKind::Input ? microBatches : 1;
      if (uint64_t bytes = regionBytes[isHost][i])
        RegionOp::create(front, module.getLoc(), regionName(kind, isHost), kind, isHost,
                         llvm::alignTo(bytes, kBufferAlignment), frames);
    }
  for (bool isHost : {false, true})
    for (auto [frames, bytes] : stageBufferBytes[isHost])
      RegionOp::create(front, module.getLoc(), stageBufferRegionName(frames, isHost), RegionKind::Residual, isHost,
                       bytes, frames);
}

} // namespace cleave::plan
