#include "compiler/Driver/Files/WeightsImage.h"

#include "compiler/Support/Directories.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Support/TemporaryFile.h"
#include "compiler/Support/WireType.h"
#include "runtime/plan/DrawnWeights.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace cleave;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

llvm::Expected<rt::TensorView> viewOf(llvm::StringRef name, const WeightTensor &tensor) {
  std::optional<rt::fb::DType> type = wireType(tensor.type.getElementType());
  if (!type)
    return makeError("weight '" + name + "' has an element type that plans do not know");
  rt::TensorView view;
  view.name = name.str();
  view.type = rt::elementType(*type);
  view.shape.assign(tensor.type.getShape().begin(), tensor.type.getShape().end());
  view.data = reinterpret_cast<const std::byte *>(tensor.bytes.data());
  view.bytes = tensor.bytes.size();
  return view;
}

// Returns the initial tensors of the segments of the plan's states, each once.
llvm::Expected<std::vector<rt::TensorView>> usedWeights(const WeightMap &weights, const rt::fb::Plan &plan) {
  std::vector<rt::TensorView> views;
  llvm::StringSet<> seen;
  std::vector<std::pair<const rt::fb::State *, const rt::fb::Segment *>> segments;
  for (const rt::KindState &each : rt::statesOf(plan))
    for (const rt::fb::Segment *segment : *each.state->segments())
      if (segment->init() == rt::fb::InitKind::weights && !rt::drawOf(*segment))
        segments.emplace_back(each.state, segment);
  for (auto [state, segment] : segments) {
    std::string name = rt::sourceOf(*segment);
    if (!seen.insert(name).second)
      continue;
    const WeightTensor *tensor = weights.find(name);
    if (!tensor)
      return makeError("state '" + llvm::StringRef(state->name()->c_str()) + "' begins as weight '" + name +
                       "', which the model does not have");
    auto view = viewOf(name, *tensor);
    if (!view)
      return view.takeError();
    views.push_back(*view);
  }
  return views;
}

llvm::Expected<WeightsImage> writeBeside(const std::vector<rt::TensorView> &views, llvm::StringRef output) {
  WeightsImage image;
  image.file = weightsPathBeside(path::filename(output));
  image.beside = std::make_unique<WeightsFile>(weightsPathBeside(output));
  if (llvm::Error error = image.beside->write(views))
    return error;
  auto checksum = image.beside->checksum();
  if (!checksum)
    return checksum.takeError();
  image.checksum = std::move(*checksum);
  return image;
}

llvm::Expected<WeightsImage> writeEmbedded(const std::vector<rt::TensorView> &views) {
  auto file = TemporaryFile::create("cleave-weights", "safetensors");
  if (!file)
    return file.takeError();
  if (llvm::Error error = toError(rt::writeSafeTensors(file->path(), views)))
    return error;
  auto bytes = llvm::MemoryBuffer::getFile(file->path(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return makeError(file->path() + ": " + bytes.getError().message());
  WeightsImage image;
  image.embedded = std::move(*bytes); // mapped, so it stays readable after the name is removed
  return image;
}

} // namespace

std::string cleave::weightsPathBeside(llvm::StringRef output) { return (output + ".weights/model.safetensors").str(); }

llvm::Error WeightsFile::write(const std::vector<rt::TensorView> &tensors) {
  std::error_code code = makeDirectory(directory());
  isNew = !code;
  if (code && code != std::errc::file_exists)
    return makeError("cannot make the folder of the weights, " + directory() + ": " + code.message());
  rt::Status status = file.emplace().create(path, tensors);
  for (size_t i = 0; i < tensors.size() && status.isOk(); ++i)
    status = file->append(tensors[i].data, tensors[i].bytes);
  // The disk's errors come now, before the artefact replaces an older one. commit() only renames.
  if (status.isOk())
    status = file->flush();
  return toError(status);
}

llvm::Expected<std::string> WeightsFile::checksum() const {
  uint32_t sum = 0;
  if (rt::Status status = file->headerChecksum(&sum); !status.isOk())
    return toError(status);
  return rt::checksumText(sum);
}

llvm::Error WeightsFile::commit() {
  llvm::Error error = toError(file->commit());
  isNew = isNew && error;
  return error;
}

WeightsFile::~WeightsFile() {
  file.reset();
  if (isNew)
    fs::remove(directory());
}

llvm::Expected<WeightsImage> cleave::writeWeights(const WeightMap &weights, const rt::fb::Plan &plan,
                                                  llvm::StringRef output) {
  auto views = usedWeights(weights, plan);
  if (!views)
    return views.takeError();
  uint64_t bytes = 0;
  for (const rt::TensorView &view : *views)
    bytes += view.bytes;
  if (views->empty())
    return WeightsImage();
  return bytes > embeddedWeightsLimit ? writeBeside(*views, output) : writeEmbedded(*views);
}

void cleave::addConstant(WeightMap &weights, llvm::StringRef name, mlir::DenseElementsAttr value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  auto bytes = std::make_shared<std::vector<char>>();
  if (type.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes->push_back(element);
  } else {
    llvm::ArrayRef<char> raw = value.getRawData();
    for (int64_t i = 0, copies = value.isSplat() ? type.getNumElements() : 1; i < copies; ++i)
      bytes->insert(bytes->end(), raw.begin(), raw.end());
  }
  weights.own(bytes);
  weights.insert(name, {type, *bytes});
}
