#include "runtime/train/data/DataSource.h"

#include "runtime/base/Counted.h"
#include "runtime/base/Hash.h"
#include "runtime/base/OptionText.h"
#include "runtime/train/data/ArrayAdvice.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace cleave::rt {
namespace {

// Shapes may differ by dimensions of one element: [28, 28] feeds [1, 28, 28].
Shape withoutOnes(Shape shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

// llm.c writes a header of 256 i32 before its tokens: magic, version, count. Returns the bytes to skip.
size_t streamHeader(const FileMapping &file, ElementType type) {
  constexpr size_t kHeaderBytes = 1024;
  constexpr int32_t kMagics[] = {20240520, 20240801};
  int32_t head[3];
  if (file.size() < kHeaderBytes)
    return 0;
  std::memcpy(head, file.data(), sizeof head);
  bool known = std::find(std::begin(kMagics), std::end(kMagics), head[0]) != std::end(kMagics) && head[2] >= 0;
  return known && kHeaderBytes + uint64_t(head[2]) * elementSize(type) == file.size() ? kHeaderBytes : 0;
}

// For example "; it has: a, b (choose one with key=NAME)". Only the first names are shown, because a file of weights
// may have thousands.
std::string listOf(const SafeTensors &file) {
  constexpr size_t kNamed = 8;
  std::string names;
  for (size_t i = 0; i < std::min(kNamed, file.tensors().size()); ++i)
    names += (i ? ", " : "") + file.tensors()[i].name;
  if (names.empty())
    return "; it has none";
  return "; it has: " + names + (file.tensors().size() > kNamed ? ", ..." : "") + " (choose one with key=NAME)";
}

} // namespace

Status inputType(const fb::Port &port, InputType *result) {
  *result = {port.name()->str(), elementType(port.dtype()), {}, port.batch_dim() >= 0};
  if (port.shape())
    result->sample.assign(port.shape()->begin(), port.shape()->end());
  if (port.batch_dim() > 0)
    return invalidArgument("'" + result->name + "' has its batch dimension at " + std::to_string(port.batch_dim()) +
                           "; files have it at 0, so such an input is fed by the C API or by cleave.Model in Python");
  if (result->batched && !result->sample.empty())
    result->sample.erase(result->sample.begin());
  return Status::ok();
}

Status DataSource::open(const DataSpec &spec, const InputType &input, DataSource *result) {
  CLEAVE_TRY(openHeaders(spec, input, result));
  return result->load();
}

Status DataSource::load() {
  std::string where = "input '" + input_.name + "'";
  CLEAVE_TRY(unpackArchives().in(where));
  return verifySafeTensors().in(where);
}

Status DataSource::unpackArchives() {
  for (const Packed &packed : packed_) {
    TensorView view;
    CLEAVE_TRY(archives_[packed.archive].array(packed.key, &view));
    if (packed.piece < pieces_.size())
      pieces_[packed.piece].data = view.data;
  }
  packed_.clear();
  return Status::ok();
}

// All bytes are read now, because samples are read in any order.
Status DataSource::verifySafeTensors() {
  for (const auto &[file, view] : unverified_)
    for (size_t done = 0; done < view.bytes; done += kDropBytes) {
      CLEAVE_TRY(verifyBytes(view, done, std::min(kDropBytes, view.bytes - done)));
      safetensors_[file].dropPages();
    }
  unverified_.clear();
  return Status::ok();
}

Status DataSource::openHeaders(const DataSpec &spec, const InputType &input, DataSource *result) {
  DataSource source;
  source.input_ = input;
  if (!countElements(input.sample, &source.length_))
    return internal("input '" + input.name + "' has the bad shape " + toString(input.sample));
  if (spec.stream && source.length_ == 0)
    return invalidArgument("input '" + input.name + "' has no elements, and a stream no shape; give an array");
  source.sampleBytes_ = source.length_ * elementSize(input.type);
  std::string where = "input '" + input.name + "'";
  CLEAVE_TRY((spec.stream ? source.openStream(spec) : source.openArrays(spec)).in(where));
  CLEAVE_TRY(source.chooseConversion(spec).in(where));
  if (source.samples_ == 0)
    return invalidArgument(where + ": " + spec.files[0] + " holds no whole sample" +
                           (spec.stream
                                ? ": it has " + counted(source.elements_, "element") + ", and shift and window take " +
                                      std::to_string(source.shift_ + source.length_)
                                : std::string()));
  if (!input.batched && source.samples_ != 1)
    return invalidArgument(
        where + " has no batch dimension and takes one " + toString(input.type, input.sample) +
        " for all samples; got " + std::to_string(source.samples_) +
        (spec.files.size() > 1 ? " in " + std::to_string(spec.files.size()) + " files" : " in " + spec.files[0]) +
        "; give one");
  *result = std::move(source);
  return Status::ok();
}

Status DataSource::openStream(const DataSpec &spec) {
  if (spec.window != length_)
    return invalidArgument("window=" + std::to_string(spec.window) + ", but a sample is " +
                           toString(input_.type, input_.sample) + "; write window=" + std::to_string(length_));
  isStream_ = true;
  type_ = *spec.stream;
  shift_ = spec.shift;
  stride_ = spec.stride ? spec.stride : spec.window;
  size_t width = elementSize(type_);
  for (const std::string &name : spec.files) {
    FileMapping file;
    CLEAVE_TRY(FileMapping::open(name, &file));
    size_t skip = streamHeader(file, type_);
    if ((file.size() - skip) % width != 0)
      return invalidArgument(name + " has " + std::to_string(file.size()) + " bytes, which is not a whole number of " +
                             elementName(type_) + "; give the type that the file was written with");
    uint64_t count = (file.size() - skip) / width;
    if (count != 0)
      pieces_.push_back({file.data() + skip, elements_, count, name});
    elements_ += count;
    files_.push_back(std::move(file));
  }
  bool fits = elements_ >= length_ && elements_ - length_ >= shift_;
  samples_ = fits ? (elements_ - shift_ - length_) / stride_ + 1 : 0;
  return Status::ok();
}

Status DataSource::openArrays(const DataSpec &spec) {
  stride_ = length_;
  for (const std::string &file : spec.files) {
    TensorView view;
    std::string key = spec.key.empty() ? input_.name : spec.key;
    CLEAVE_TRY(openArray(file, key, &view));
    view.name = file;
    size_t piece = pieces_.size();
    CLEAVE_TRY(addArray(view));
    if (endsWith(file, ".npz"))
      packed_.push_back({archives_.size() - 1, piece < pieces_.size() ? piece : SIZE_MAX, key});
  }
  return Status::ok();
}

Status DataSource::openArray(const std::string &file, const std::string &key, TensorView *view) {
  if (endsWith(file, ".npz")) {
    archives_.emplace_back();
    CLEAVE_TRY(Npz::open(file, &archives_.back()));
    return archives_.back().header(key, view);
  }
  if (endsWith(file, ".safetensors")) {
    safetensors_.emplace_back();
    CLEAVE_TRY(SafeTensors::open(file, &safetensors_.back()));
    const TensorView *found = safetensors_.back().find(key);
    CLEAVE_TRY(safetensors_.back().checkType(key));
    if (!found)
      return notFound(file + " has no tensor '" + key + "'" + listOf(safetensors_.back()));
    *view = *found;
    unverified_.push_back({safetensors_.size() - 1, *found});
    return Status::ok();
  }
  std::error_code none;
  bool isDirectory = std::filesystem::is_directory(file, none);
  if (isDirectory || !endsWith(file, ".npy"))
    return invalidArgument(file + (isDirectory ? " is a directory" : "") +
                           ": expected a name ending in .npy, .npz or .safetensors, or a flat stream FILE:u8, "
                           "FILE:u16 or FILE:u32" +
                           (isDirectory ? "" : formatAdvice(file)));
  files_.emplace_back();
  CLEAVE_TRY(FileMapping::open(file, &files_.back()));
  return parseNpy(files_.back().data(), files_.back().size(), file, view);
}

Status DataSource::addArray(const TensorView &view) {
  Shape sample = view.shape;
  if (input_.batched && !sample.empty())
    sample.erase(sample.begin());
  bool hasSamples = !input_.batched || !view.shape.empty();
  if (!hasSamples || withoutOnes(sample) != withoutOnes(input_.sample)) {
    std::string expected = toString(input_.sample);
    if (input_.batched)
      expected = input_.sample.empty() ? "[samples]" : "[samples, " + expected.substr(1);
    return invalidArgument(view.name + ": expected " + elementName(input_.type) + expected + ", got " +
                           toString(view.type, view.shape) + shapeAdvice(view.shape, input_));
  }
  if (!pieces_.empty() && view.type != type_)
    return invalidArgument(view.name + " is " + elementName(view.type) + ", the file before it " + elementName(type_) +
                           "; save all files of one input with one type");
  type_ = view.type;
  uint64_t count = view.bytes / elementSize(type_);
  if (count != 0)
    pieces_.push_back({view.data, elements_, count, view.name});
  elements_ += count;
  samples_ += input_.batched ? static_cast<uint64_t>(view.shape[0]) : 1;
  return Status::ok();
}

// Returns ",mean=0.485/0.456" for the same values in [0, 1] instead of 0 to 255. Empty without values.
static std::string ofUnit(const char *key, const std::vector<double> &values, double unit) {
  std::string text;
  for (double value : values) {
    char number[40];
    std::snprintf(number, sizeof number, "%.4g", value / unit);
    text += (text.empty() ? std::string(",") + key + "=" : "/") + number;
  }
  return text;
}

// Bytes are divided by 255 first, so a mean above 1 is that of the bytes themselves. Training would go on with numbers
// that are all nearly equal. A deviation says nothing alone: std=2 only makes the numbers smaller.
static Status checkOfUnit(const DataSpec &spec) {
  if (std::none_of(spec.mean.begin(), spec.mean.end(), [](double mean) { return mean > 1; }))
    return Status::ok();
  constexpr double kUnit = 255;
  std::string written = ofUnit("mean", spec.mean, 1) + ofUnit("std", spec.std, 1);
  std::string meant = ofUnit("mean", spec.mean, kUnit) + ofUnit("std", spec.std, kUnit);
  return invalidArgument(written.substr(1) +
                         ": bytes are divided by 255 first, so that they are from 0 to 1, and so are "
                         "their mean and std; write " +
                         meant.substr(1));
}

Status DataSource::chooseConversion(const DataSpec &spec) {
  bool normalized = !spec.mean.empty() || !spec.std.empty();
  convert_ = findConversion(type_, input_.type, normalized);
  if (!convert_ && normalized && findConversion(type_, input_.type, false))
    return invalidArgument("mean and std make floating-point values, and the model's input is " +
                           std::string(elementName(input_.type)) + ": it converts them itself; leave mean and std out");
  if (!convert_) {
    std::string hint = type_ == ElementType::u8 && !normalized ? " (pixels: give mean=0,std=1 to scale them to [0, 1])"
                                                               : typeAdvice(input_.type);
    return invalidArgument("expected " + std::string(elementName(input_.type)) + ", got " + elementName(type_) +
                           " in " + spec.files[0] + hint);
  }
  if (!normalized)
    return Status::ok();
  if (type_ == ElementType::u8)
    CLEAVE_TRY(checkOfUnit(spec));
  size_t channels = std::max(spec.mean.size(), spec.std.size());
  if (channels > 1 && (input_.sample.empty() || input_.sample[0] != static_cast<int64_t>(channels)))
    return invalidArgument(
        "mean and std have " + std::to_string(channels) +
        " values, one for each channel; expected samples whose first dimension has the channels, got "
        "samples of " +
        toString(input_.sample));
  normalization_.inner = length_ / channels;
  double unit = type_ == ElementType::u8 ? 1.0 / 255 : 1.0;
  auto of = [](const std::vector<double> &values, size_t channel, double missing) {
    return values.empty() ? missing : values[values.size() == 1 ? 0 : channel];
  };
  for (size_t c = 0; c < channels; ++c) {
    double mean = of(spec.mean, c, 0), std = of(spec.std, c, 1);
    normalization_.scale.push_back(unit / std);
    normalization_.offset.push_back(-mean / std);
  }
  return Status::ok();
}

void DataSource::dropPages() const {
  for (const FileMapping &file : files_)
    file.dropPages();
  for (const SafeTensors &file : safetensors_)
    file.dropPages();
  for (const Npz &archive : archives_)
    archive.dropPages();
}

const DataSource::Piece &DataSource::pieceAt(uint64_t element) const {
  auto next = std::upper_bound(pieces_.begin(), pieces_.end(), element,
                               [](uint64_t wanted, const Piece &piece) { return wanted < piece.first; });
  return *--next;
}

std::string DataSource::placeOf(uint64_t i, uint64_t element) const {
  uint64_t at = shift_ + (input_.batched ? i * stride_ : 0) + element;
  const Piece &piece = pieceAt(at);
  if (isStream_)
    return piece.file + ", element " + std::to_string(at - piece.first);
  return piece.file + (input_.batched ? ", sample " + std::to_string((at - piece.first) / stride_) : "");
}

template <typename Visit> void DataSource::forEachRun(uint64_t i, uint64_t elements, Visit visit) const {
  if (elements == 0)
    return;
  uint64_t at = shift_ + (input_.batched ? i * stride_ : 0), width = elementSize(type_);
  const Piece *piece = &pieceAt(at);
  for (uint64_t done = 0; done < elements; ++piece) {
    uint64_t inside = at + done - piece->first, count = std::min(elements - done, piece->count - inside);
    visit(*piece, piece->data + inside * width, count, done);
    done += count;
  }
}

uint64_t DataSource::hashOf(uint64_t i, size_t most, uint64_t hash) const {
  uint64_t width = elementSize(type_);
  forEachRun(i, std::min<uint64_t>(length_, most / width),
             [&](const Piece &, const std::byte *data, uint64_t count, uint64_t) {
               hash = fnv1a({reinterpret_cast<const char *>(data), count * width}, hash);
             });
  return hash;
}

void DataSource::read(uint64_t i, std::byte *target) const {
  forEachRun(i, length_, [&](const Piece &, const std::byte *data, uint64_t count, uint64_t done) {
    convert_(data, target + done * elementSize(input_.type), count, done, normalization_);
  });
}

// The kernel maps the pages of an aligned window of this size that are in its cache, when one of them is read.
static constexpr uintptr_t kWindow = 64u << 10;
static constexpr size_t kPage = 4u << 10;

size_t DataSource::mostMapped() const {
  size_t bytes = 0;
  for (const Piece &piece : pieces_)
    bytes += piece.count * elementSize(type_) + 2 * kPage;
  return bytes;
}

size_t DataSource::mappedBy(uint64_t i, uintptr_t *mapped) const {
  size_t bytes = 0, width = elementSize(type_);
  forEachRun(i, length_, [&](const Piece &piece, const std::byte *data, uint64_t count, uint64_t) {
    auto address = reinterpret_cast<uintptr_t>(data);
    uintptr_t begin = address / kWindow * kWindow;
    uintptr_t end = (address + count * width + kWindow - 1) / kWindow * kWindow;
    if (begin < *mapped && begin + kWindow >= *mapped) // the last read has ended in this window
      begin = std::min(*mapped, end);
    *mapped = end;
    bytes += std::min<size_t>(end - begin, piece.count * width + 2 * kPage); // a small file has no more
  });
  return bytes;
}

size_t DataSource::unpackedBytes() const {
  size_t bytes = 0;
  for (const Npz &archive : archives_)
    bytes += archive.unpackedBytes();
  return bytes;
}

} // namespace cleave::rt
