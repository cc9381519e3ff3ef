#include "runtime/api/Inference.h"

#include "runtime/base/Assignment.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Log.h"
#include "runtime/base/NearestName.h"
#include "runtime/session/DrawnNumbers.h"
#include "runtime/session/IndexRange.h"
#include "runtime/session/OutputNeeds.h"
#include "runtime/session/ProgramBatch.h"
#include "runtime/session/SameRun.h"
#include "runtime/state/ElementValue.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace cleave::rt {
namespace {

// An output that the user wants, with its bytes as they are gathered.
struct Output {
  const fb::Port *port = nullptr;
  std::string path;
  Shape shape;            // of all samples
  size_t sampleBytes = 0; // of one sample; of the whole output if it has no batch dimension
  std::vector<std::byte> bytes;
};

const fb::Port *findPort(const fb::Program &program, const std::string &name, std::vector<std::string> *names) {
  const fb::Port *found = nullptr;
  for (size_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const fb::Port *port = program.outputs()->Get(i);
    names->push_back(port->name()->str());
    if (names->back() == name)
      found = port;
  }
  return found;
}

// Some outputs are computed from all samples of a global batch together. Runs over parts of the samples, or over a
// batch that is filled up with copies, would give another result.
Status checkWhole(const std::string &name, const char *reason, uint64_t samples, uint64_t globalBatch) {
  if (samples == globalBatch)
    return Status::ok();
  return invalidArgument("output '" + name + "' " + reason + ": it is computed from exactly one global batch, " +
                         std::to_string(globalBatch) + " samples, and --input holds " + std::to_string(samples) +
                         "; give " + std::to_string(globalBatch) + " samples, leave out this output, or compile the " +
                         "model for another batch");
}

Status nameOutput(const fb::Program &program, const std::string &text, Output *output) {
  std::string name;
  std::vector<std::string> names;
  bool isAssignment = splitAssignment(text, &name, &output->path);
  output->port = findPort(program, name, &names);
  if (!isAssignment || name.empty() || output->path.empty())
    return invalidArgument("'" + text + "': expected OUTPUT=FILE.npy; the model's outputs are " + joinNames(names));
  if (!output->port) {
    std::string near = didYouMean(name, names);
    return invalidArgument("the model has no output '" + name + "'" +
                           (near.empty() ? "; its outputs are " + joinNames(names) : near) +
                           (text.find('=') == text.rfind('=') ? "" : " (write a = of a name as \\=)"));
  }
  if (output->path == "-")
    return invalidArgument("'" + text + "': arrays are not written to standard output; name a file, as " + name +
                           "=FILE.npy");
  std::string extension = std::filesystem::path(output->path).extension().string();
  if (!extension.empty() && extension != ".npy")
    return invalidArgument("'" + text + "': only .npy files are written; name it FILE.npy");
  return Status::ok();
}

// `globalBatch` is 0 if no input has a batch dimension.
Status sizeOutput(const fb::Plan &plan, uint64_t samples, uint64_t globalBatch, Output *output) {
  std::string name = output->port->name()->str();
  if (output->port->batch_dim() > 0)
    return invalidArgument("output '" + name + "' has its batch dimension at " +
                           std::to_string(output->port->batch_dim()) +
                           "; files have it at 0, so the C API or cleave.Model in Python gives such an output");
  bool isBatched = output->port->batch_dim() == 0;
  const char *reason = isBatched ? wholeBatchReason(plan, *output->port) : "has no batch dimension";
  if (globalBatch != 0 && reason)
    CLEAVE_TRY(checkWhole(name, reason, samples, globalBatch));
  if (const auto *shape = output->port->shape())
    output->shape.assign(shape->begin(), shape->end());
  uint64_t elements = 0;
  countElements(output->shape, &elements);
  ElementType type = elementType(output->port->dtype());
  if (output->port->batch_dim() == 0) {
    output->sampleBytes = elements / std::max<int64_t>(1, output->shape[0]) * elementSize(type);
    output->shape[0] = static_cast<int64_t>(samples);
    output->bytes.resize(samples * output->sampleBytes);
  } else {
    output->sampleBytes = elements * elementSize(type);
    output->bytes.resize(output->sampleBytes);
  }
  return Status::ok();
}

// Returns which inputs no wanted output depends on. They may be left zero. The result is empty if the number of samples
// could not be known without these inputs.
std::vector<bool> sparedInputs(const fb::Plan &plan, const fb::Program &program, const std::vector<Output> &outputs) {
  std::vector<bool> spared(lengthOf(program.inputs()), true);
  for (const Output &output : outputs)
    for (size_t i = 0; i < spared.size(); ++i)
      spared[i] = spared[i] && !dependsOn(plan, *output.port, *program.inputs()->Get(i));
  bool isBatched = false, tellsSamples = false;
  for (size_t i = 0; i < spared.size(); ++i) {
    bool batched = program.inputs()->Get(i)->batch_dim() >= 0;
    isBatched |= batched;
    tellsSamples |= batched && !spared[i];
  }
  return isBatched == tellsSamples ? spared : std::vector<bool>();
}

class FileInference {
public:
  FileInference(Session &session, const fb::Program &program, const DataSet &data, std::vector<Output> &outputs)
      : session_(session), program_(program), data_(data), outputs_(outputs),
        ranges_(IndexRange::ofInputs(session.plan(), program)), frames_(inputFrames(session.plan(), program)),
        pages_(data.sources) {}

  Status run() {
    CLEAVE_TRY(programBatch(program_, &batch_));
    uint64_t step = batch_ * frames_ * session_.dataRanks();
    DrawnNumbers numbers(session_, kInferenceSeed);
    for (uint64_t first = 0; first < data_.samples; first += step) {
      numbers.next();
      CLEAVE_TRY(session_.forEach([&](unsigned local, Rank &rank) {
        uint64_t mine = first + session_.dataRank(local) * frames_ * batch_;
        CLEAVE_TRY(fill(rank, mine));
        CLEAVE_TRY(rank.run(program_));
        collect(local, rank, mine);
        return Status::ok();
      }));
      noteRead(first, std::min(data_.samples, first + step));
    }
    return Status::ok();
  }

private:
  // Pages of the data's files that were read would count as memory of the process.
  void noteRead(uint64_t first, uint64_t end) {
    for (size_t input = 0; input < data_.sources.size(); ++input)
      if (const DataSource &source = data_.sources[input]; source.isOpen())
        for (uint64_t i = first; i < (source.input().batched ? end : first + 1); ++i)
          pages_.note(input, i);
  }

  Status fill(Rank &rank, uint64_t first) const {
    for (size_t input = 0; input < data_.sources.size(); ++input) {
      const DataSource &source = data_.sources[input];
      if (!source.isOpen())
        continue; // zeros, as regions are when they are created
      for (unsigned frame = 0; frame < frames_; ++frame) {
        Bytes port = rank.portBytes(*program_.inputs()->Get(input), frame);
        if (!port.data) // only another kind of ranks uses it
          continue;
        uint64_t count = source.input().batched ? batch_ : 1, begin = first + frame * batch_, element = 0;
        for (uint64_t i = 0; i < count; ++i)
          source.read((begin + i) % data_.samples, port.data + i * source.sampleBytes());
        for (const IndexRange &range : ranges_[input])
          if (Status status = range.check(*program_.inputs()->Get(input), port, &element); !status.isOk()) {
            uint64_t length = source.sampleElements(), sample = (begin + element / length) % data_.samples;
            return std::move(status).in(source.placeOf(sample, element % length));
          }
      }
    }
    return Status::ok();
  }

  // Ranks write disjoint samples. If several ranks have computed the same samples, one of them writes.
  void collect(unsigned local, Rank &rank, uint64_t first) {
    for (Output &output : outputs_) {
      if (!session_.answersFor(local, *output.port))
        continue;
      for (unsigned frame = 0; frame < frames_; ++frame) {
        Bytes port = rank.portBytes(*output.port, frame);
        uint64_t begin = first + frame * batch_;
        if (output.sampleBytes == 0)
          continue;
        if (output.port->batch_dim() < 0) {
          if (begin == 0)
            std::memcpy(output.bytes.data(), port.data, output.sampleBytes);
        } else if (begin < data_.samples) {
          uint64_t count = std::min(batch_, data_.samples - begin);
          std::memcpy(output.bytes.data() + begin * output.sampleBytes, port.data, count * output.sampleBytes);
        }
      }
    }
  }

  Session &session_;
  const fb::Program &program_;
  const DataSet &data_;
  std::vector<Output> &outputs_;
  std::vector<std::vector<IndexRange>> ranges_;
  uint64_t batch_ = 1;
  unsigned frames_;
  ReadPages pages_;
};

// " --input x=x.npy --input y=y.npy" for the first ports of a program.
std::string exampleFiles(const char *option, const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *ports) {
  constexpr uint32_t kShown = 4;
  std::string text;
  for (uint32_t i = 0; i < std::min<size_t>(lengthOf(ports), kShown); ++i) {
    std::string name = ports->Get(i)->name()->str();
    text += std::string(" ") + option + " " + name + "=" + name + ".npy";
  }
  return text + (lengthOf(ports) > kShown ? " ..." : "");
}

// A wrong path is found now, not after the run.
Status checkPaths(const std::vector<Output> &outputs) {
  for (const Output &output : outputs) {
    AtomicFile probe;
    CLEAVE_TRY(AtomicFile::create(output.path, &probe).in("--output"));
  }
  return Status::ok();
}

// NumPy has no bf16. bf16 is written as f32, which holds the same numbers exactly.
Status write(const Output &output) {
  ElementType type = elementType(output.port->dtype());
  if (type != ElementType::bf16)
    return writeNpy(output.path, {output.path, type, output.shape, output.bytes.data(), output.bytes.size()});
  std::vector<float> wide(output.bytes.size() / elementSize(type));
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = static_cast<float>(loadElement(type, output.bytes.data() + i * elementSize(type)));
  log(LogLevel::Info, -1,
      "output '" + output.port->name()->str() + "' is bf16, which NumPy has not: " + output.path +
          " holds its numbers as f32");
  return writeNpy(output.path, {output.path, ElementType::f32, output.shape,
                                reinterpret_cast<const std::byte *>(wide.data()), wide.size() * sizeof(float)});
}

} // namespace

Status inferFiles(Session &session, const std::vector<std::string> &inputs, const std::vector<std::string> &outputs) {
  const fb::Program *program = nullptr;
  CLEAVE_TRY(session.entry("infer", &program));
  if (outputs.empty())
    return invalidArgument("--output: none is given; for example:" + exampleFiles("--input", program->inputs()) +
                           exampleFiles("--output", program->outputs()));
  std::vector<Output> wanted(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    CLEAVE_TRY(nameOutput(*program, outputs[i], &wanted[i]).in("--output"));
  SameRun same;
  same.add("--input", textWithoutFiles(inputs));
  std::string names;
  for (const Output &output : wanted)
    names += output.port->name()->str() + "\n";
  same.add("--output", names);
  CLEAVE_TRY(same.check(session));
  DataSet data;
  CLEAVE_TRY(DataSet::open(*program, inputs, "--input", &data, sparedInputs(session.plan(), *program, wanted)));
  CLEAVE_TRY(data.agree(session, "--input"));
  uint64_t batch = 1;
  CLEAVE_TRY(programBatch(*program, &batch));
  bool batched = std::any_of(data.sources.begin(), data.sources.end(),
                             [](const DataSource &source) { return source.isOpen() && source.input().batched; });
  uint64_t globalBatch = batched ? batch * inputFrames(session.plan(), *program) * session.dataRanks() : 0;
  uint64_t held = 0, widened = 0; // bf16 is written as f32, one output at a time
  for (Output &output : wanted) {
    CLEAVE_TRY(sizeOutput(session.plan(), data.samples, globalBatch, &output).in("--output"));
    held += output.bytes.size();
    if (elementType(output.port->dtype()) == ElementType::bf16)
      widened = std::max<uint64_t>(widened, 2 * output.bytes.size());
  }
  session.noteOutputs(held + widened);
  session.noteData(data.memoryBytes());
  CLEAVE_TRY(session.agree(session.isLeader() ? checkPaths(wanted) : Status::ok(), "write the outputs"));
  FileInference inference(session, *program, data, wanted);
  CLEAVE_TRY(inference.run());
  for (Output &output : wanted)
    CLEAVE_TRY(session.gather(output.bytes.data(), output.bytes.size()));
  if (!session.isLeader())
    return Status::ok();
  for (const Output &output : wanted)
    CLEAVE_TRY(write(output));
  return Status::ok();
}

} // namespace cleave::rt
