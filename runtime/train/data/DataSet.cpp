#include "runtime/train/data/DataSet.h"

#include "runtime/base/Counted.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/base/NearestName.h"
#include "runtime/session/ProgramBatch.h"
#include "runtime/state/FloatConversion.h"

#include <algorithm>
#include <cmath>

namespace cleave::rt {
namespace {

std::vector<std::string> inputNames(const fb::Program &program) {
  std::vector<std::string> names;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i)
    names.push_back(program.inputs()->Get(i)->name()->str());
  return names;
}

// Finds the spec of each input, in the order of the inputs. A spared input may have a spec without files.
Status matchSpecs(const std::vector<std::string> &names, const std::vector<std::string> &texts,
                  const std::vector<bool> &spared, const std::string &option, std::vector<DataSpec> *result) {
  std::vector<DataSpec> specs(names.size());
  for (const std::string &text : texts) {
    DataSpec spec;
    bool hasName = text.find('=') != std::string::npos;
    if (hasName)
      CLEAVE_TRY(parseDataSpec(text, &spec, {names, option}));
    auto found = std::find(names.begin(), names.end(), spec.input);
    // The user has forgotten the input's name, as in "x.npy" or "text.bin:u8,window=64".
    if (!names.empty() && found == names.end() && (!hasName || spec.input.find_first_of(",:") != std::string::npos))
      return invalidArgument("'" + text + "': expected INPUT=FILE, as in " + names[0] + "=" + text +
                             "; the model's inputs are " + joinNames(names));
    if (found == names.end()) {
      std::string near = didYouMean(spec.input, names);
      return invalidArgument("the model has no input '" + spec.input + "'" +
                             (near.empty() ? "; its inputs are " + joinNames(names) : near));
    }
    DataSpec &place = specs[found - names.begin()];
    if (!place.files.empty())
      return invalidArgument("input '" + spec.input + "' is given twice");
    place = std::move(spec);
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < names.size(); ++i)
    if (specs[i].files.empty() && (spared.empty() || !spared[i]))
      missing.push_back(names[i]);
  if (!missing.empty())
    return invalidArgument(std::string("no data for input") + (missing.size() == 1 ? " " : "s ") + joinNames(missing) +
                           "; give " + option + " " + missing[0] + "=FILE" +
                           (missing.size() == 1 ? "" : ", and so on"));
  *result = std::move(specs);
  return Status::ok();
}

// All inputs must have the same number of samples. As an exception, streams with one stride may differ by the samples
// at the end for which the window with the larger end has no space.
Status matchSamples(const DataSpec &specA, const DataSource &a, const DataSpec &specB, const DataSource &b) {
  uint64_t difference = a.samples() > b.samples() ? a.samples() - b.samples() : b.samples() - a.samples();
  uint64_t allowed = 0;
  if (specA.stream && specB.stream) {
    if (a.stride() != b.stride())
      return invalidArgument("input '" + b.input().name + "' goes " + std::to_string(b.stride()) +
                             " elements from one sample to the next, input '" + a.input().name + "' " +
                             std::to_string(a.stride()) +
                             "; streams need one stride (stride=N, by default the window)");
    uint64_t endA = specA.shift + specA.window, endB = specB.shift + specB.window;
    uint64_t distance = endA > endB ? endA - endB : endB - endA;
    allowed = distance / a.stride() + (distance % a.stride() != 0);
  }
  if (difference <= allowed)
    return Status::ok();
  return invalidArgument("input '" + b.input().name + "' has " + counted(b.samples(), "sample") + ", input '" +
                         a.input().name + "' " + std::to_string(a.samples()) +
                         "; every sample needs its part of each input");
}

} // namespace

Status DataSet::open(const fb::Program &program, const std::vector<std::string> &texts, const char *option,
                     DataSet *result, const std::vector<bool> &spared) {
  std::vector<DataSpec> specs;
  CLEAVE_TRY(matchSpecs(inputNames(program), texts, spared, option, &specs).in(option));
  DataSet data;
  data.sources.resize(specs.size());
  bool batched = false;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].files.empty())
      continue;
    InputType type;
    CLEAVE_TRY(inputType(*program.inputs()->Get(i), &type).in(option));
    CLEAVE_TRY(DataSource::openHeaders(specs[i], type, &data.sources[i]).in(option));
    if (!type.batched)
      continue;
    for (size_t other = 0; other < i; ++other)
      if (data.sources[other].isOpen() && data.sources[other].input().batched)
        CLEAVE_TRY(matchSamples(specs[other], data.sources[other], specs[i], data.sources[i]).in(option));
    uint64_t samples = data.sources[i].samples();
    data.samples = batched ? std::min(data.samples, samples) : samples;
    batched = true;
  }
  if (!batched)
    data.samples = 1;
  for (DataSource &source : data.sources)
    CLEAVE_TRY(source.load().in(option));
  *result = std::move(data);
  return Status::ok();
}

uint64_t DataSet::fingerprint() const {
  constexpr uint64_t kSamples = 64;
  constexpr size_t kMostBytes = 1u << 14; // of each
  std::vector<std::pair<std::string, uint64_t>> inputs;
  ReadPages pages(sources);
  for (size_t input = 0; input < sources.size(); ++input) {
    const DataSource &source = sources[input];
    uint64_t count = source.isOpen() ? std::min(source.samples(), kSamples) : 0, hash = fnv1a("");
    uint64_t last = source.samples() - 1,
             gaps = std::max<uint64_t>(count, 2) - 1; // the first and the last sample are included
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t sample = i * (last / gaps) + i * (last % gaps) / gaps;
      hash = source.hashOf(sample, kMostBytes, hash);
      pages.note(input, sample);
    }
    source.dropPages();
    inputs.emplace_back(source.input().name, hash);
  }
  std::sort(inputs.begin(), inputs.end()); // programs may have their inputs in other orders
  std::string all = std::to_string(samples);
  for (const auto &[name, hash] : inputs)
    all += "\n" + name + "\n" + std::to_string(hash);
  return fnv1a(all);
}

Status DataSet::agree(Session &session, const std::string &option) const {
  if (!session.processes())
    return Status::ok();
  CLEAVE_TRY(session.agreeOn(samples, "the samples of " + option));
  return session.agreeOnHash(fingerprint(), option + ": the contents");
}

uint64_t DataSet::memoryBytes() const {
  uint64_t bytes = ReadPages::mostBytes(sources);
  for (const DataSource &source : sources)
    bytes += source.unpackedBytes();
  return bytes;
}

Status InputFeed::open(Session &session, const fb::Program &program, unsigned frames, const DataSet &data,
                       uint64_t seed, bool shuffle, LastBatch last, uint64_t epoch, uint64_t position,
                       const char *option, std::unique_ptr<InputFeed> *result) {
  BatchGeometry geometry;
  CLEAVE_TRY(programBatch(program, &geometry.samples));
  geometry.frames = frames;
  geometry.dataRanks = session.dataRanks();
  for (unsigned local = 0; local < session.localRanks(); ++local) {
    geometry.localDataRanks.push_back(session.dataRank(local));
    geometry.unused.emplace_back();
    for (size_t input = 0; input < lengthOf(program.inputs()); ++input)
      geometry.unused.back().push_back(!session.rank(local).portBytes(*program.inputs()->Get(input), 0).data);
  }
  bool batched = std::any_of(data.sources.begin(), data.sources.end(),
                             [](const DataSource &source) { return source.input().batched; });
  // If no input has a batch dimension, there is one sample, and it is the batch.
  uint64_t globalBatch = batched ? geometry.globalBatch() : 1;
  Sampler sampler(data.samples, globalBatch, seed, shuffle, last);
  if (sampler.batchesPerEpoch() == 0)
    return invalidArgument(std::string(option) + " has " + counted(data.samples, "sample") +
                           ", fewer than one global batch of " + std::to_string(globalBatch) +
                           (last == LastBatch::Leave
                                ? ", and the loss is not a sum over samples divided by a count, or the model draws "
                                  "random numbers; give more data"
                                : "; give more data, or --last-batch pad"));
  result->reset(new InputFeed(session, program, data, frames, sampler, IndexRange::ofInputs(session.plan(), program)));
  std::string missing; // why a rank has no memory of its device
  auto memory = [&](unsigned local, size_t bytes) {
    std::byte *part = nullptr;
    Status status = session.rank(local).allocateFeed(bytes, &part);
    if (!status.isOk())
      missing = status.message();
    return part;
  };
  (*result)->reader_ = std::make_unique<BatchReader>(data.sources, sampler, geometry, epoch, position, memory);
  session.noteData(data.memoryBytes() + (*result)->reader_->ownBytes());
  if (!missing.empty())
    log(LogLevel::Warning, -1,
        std::string(option) + ": the system locks no pages for batches (" + missing +
            "), so the driver copies each batch once more before the GPU gets it, and steps take longer");
  return Status::ok();
}

Status InputFeed::fill(unsigned local, Rank &rank) const {
  for (unsigned input = 0; input < lengthOf(program_.inputs()); ++input)
    for (unsigned frame = 0; frame < frames_; ++frame) {
      Bytes port = rank.portBytes(*program_.inputs()->Get(input), frame);
      if (!port.data) // only another kind of ranks uses it
        continue;
      CLEAVE_TRY(rank.feed(*program_.inputs()->Get(input), frame, batch_->bytes(local, frame, input)));
    }
  return Status::ok();
}

Status InputFeed::check() const {
  for (unsigned local = 0; local < session_.localRanks(); ++local)
    for (unsigned input = 0; input < lengthOf(program_.inputs()); ++input)
      for (unsigned frame = 0; !ranges_[input].empty() && frame < frames_; ++frame)
        CLEAVE_TRY(checkPart(local, input, frame));
  return Status::ok();
}

bool InputFeed::canFail() const {
  return std::any_of(ranges_.begin(), ranges_.end(), [](const auto &ranges) { return !ranges.empty(); });
}

Status InputFeed::checkPart(unsigned local, unsigned input, unsigned frame) const {
  const fb::Port &port = *program_.inputs()->Get(input);
  Bytes part = session_.rank(local).portBytes(port, frame);
  if (!part.data) // only another kind of ranks uses it
    return Status::ok();
  uint64_t element = 0, length = data_.sources[input].sampleElements();
  for (const IndexRange &range : ranges_[input])
    if (Status status = range.check(port, {batch_->bytes(local, frame, input), part.size}, &element); !status.isOk())
      return std::move(status).in(
          data_.sources[input].placeOf(batch_->sample(local, frame, element / length), element % length));
  return Status::ok();
}

NonFiniteValue InputFeed::findNonFinite(unsigned local) const {
  for (unsigned input = 0; input < lengthOf(program_.inputs()); ++input) {
    const fb::Port &port = *program_.inputs()->Get(input);
    ElementType type = elementType(port.dtype());
    for (unsigned frame = 0; isFloating(type) && frame < frames_; ++frame) {
      Bytes bytes = session_.rank(local).portBytes(port, frame);
      if (!bytes.data) // only another kind of ranks uses it
        continue;
      const std::byte *values = batch_->bytes(local, frame, input);
      uint64_t count = bytes.size / elementSize(type), found = rt::findNonFinite(type, values, count);
      if (found == count)
        continue;
      uint64_t length = data_.sources[input].sampleElements();
      double value = loadElement(type, values + found * elementSize(type));
      return {data_.sources[input].placeOf(batch_->sample(local, frame, found / length), found % length) + ": input '" +
                  port.name()->str() + "' holds a value that is " + whatItIs(value),
              std::isinf(value)};
    }
  }
  return {};
}

NonFiniteValue InputFeed::findNonFinite() const {
  NonFiniteValue found;
  for (unsigned local = 0; found.text.empty() && local < session_.localRanks(); ++local)
    found = findNonFinite(local);
  // The first process that has found one tells the others its text, and after it what the value is.
  constexpr char kInfinite = 'i', kNotANumber = 'n';
  if (!found.text.empty())
    found.text += found.isInfinite ? kInfinite : kNotANumber;
  session_.share(&found.text);
  if (!found.text.empty()) {
    found.isInfinite = found.text.back() == kInfinite;
    found.text.pop_back();
  }
  return found;
}

} // namespace cleave::rt
