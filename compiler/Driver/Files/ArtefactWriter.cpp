#include "compiler/Driver/Files/ArtefactWriter.h"

#include "compiler/Codegen/Host/ModelObject.h"
#include "compiler/Codegen/Loops/GraphFacts.h"
#include "compiler/Driver/Files/Linker.h"
#include "compiler/Driver/Files/ModelHeader.h"
#include "compiler/Driver/Files/WeightsImage.h"
#include "compiler/Driver/KernelDump.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/TemporaryFile.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/Seals.h"

#include "llvm/Support/FileSystem.h"

using namespace cleave;

namespace {

class ArtefactWriter {
public:
  ArtefactWriter(const ArtefactSource &source, const rt::fb::Plan &plan, llvm::raw_ostream &log)
      : source(source), plan(plan), log(log), emit(source.options.emit), name(modelIdentifier(source.output)),
        prefix("cleave_" + name + "_") {}

  llvm::Error write(llvm::StringRef bytes, WrittenFiles &written);

private:
  llvm::Error checkKernels() const;
  llvm::Expected<KernelCode> generate() const;
  llvm::Error addKernels(ModelObject &data, KernelCode &code) const;
  llvm::Error link(llvm::ArrayRef<std::string> objects) const;
  llvm::Error writeBesides(WeightsImage &weights) const;
  void note(const WeightsImage &weights, WrittenFiles &written) const;
  bool hasHeader() const { return emit != Emit::Executable; }

  const ArtefactSource &source;
  const rt::fb::Plan &plan;
  llvm::raw_ostream &log;
  Emit emit;
  std::string name, prefix; // names of the model, and the prefix of its kernels' symbols
};

// The plan names library and built-in kernels by what they compute. Fails if the target lacks one of them.
llvm::Error ArtefactWriter::checkKernels() const {
  for (const rt::fb::Plan *kind : rt::kindsOf(plan))
    for (size_t i = 0; i < rt::lengthOf(kind->kernels()); ++i)
      if (const rt::fb::Kernel *kernel = kind->kernels()->Get(i); kernel->kind() != rt::fb::KernelKind::generated)
        if (llvm::Error error = source.target.checkKernel(*kernel))
          return error;
  return llvm::Error::success();
}

llvm::Expected<KernelCode> ArtefactWriter::generate() const {
  if (llvm::Error error = checkKernels())
    return error;
  const std::string &dump = source.options.dumpKernels;
  auto code = source.target.compile(source.kernels, prefix, alignmentsOf(plan), !dump.empty());
  if (!code || dump.empty())
    return code;
  if (llvm::Error error = writeKernelDump(dump, source.kernels, source.target, *code, source.read))
    return error;
  if (!code->listingNote.empty())
    log << "note: --dump: " << code->listingNote << "\n";
  return code;
}

ModelObject::Kernel deviceKernel(const KernelCode &code, llvm::StringRef prefix, const std::string &label) {
  auto found = code.device.find(label);
  if (found == code.device.end())
    return {}; // Target::compile() would have failed
  return {(prefix + label).str(), found->second.blockSize, found->second.blocks, found->second.alignments};
}

// Adds the kernels in the order of rt::firstKernel.
llvm::Error ArtefactWriter::addKernels(ModelObject &data, KernelCode &code) const {
  bool isOnDevice = !code.deviceImage.empty();
  for (const rt::fb::Plan *kind : rt::kindsOf(plan))
    for (size_t i = 0; i < rt::lengthOf(kind->kernels()); ++i) {
      const rt::fb::Kernel *kernel = kind->kernels()->Get(i);
      std::string label = kernel->name()->str();
      bool isGenerated = kernel->kind() == rt::fb::KernelKind::generated;
      data.kernels.push_back(isGenerated && !isOnDevice ? prefix + label : "");
      data.facts.push_back(isGenerated ? kernel->facts() : 0);
      if (isOnDevice)
        data.device.push_back(isGenerated ? deviceKernel(code, prefix, label) : ModelObject::Kernel());
      if (!isGenerated)
        continue;
      if (std::string why = disagreement(code.facts[label], rt::KernelFacts::of(*kernel)); !why.empty())
        return makeError("the code of kernel '" + label + "' has " + why);
    }
  return llvm::Error::success();
}

llvm::Error ArtefactWriter::link(llvm::ArrayRef<std::string> objects) const {
  std::vector<TemporaryFile> files;
  std::vector<std::string> paths;
  for (const std::string &object : objects) {
    auto file = TemporaryFile::create("cleave", "o");
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
    paths.push_back(files.back().path());
    if (llvm::Error error = files.back().write(object))
      return error;
  }
  LinkKind kind = emit == Emit::Executable ? LinkKind::Executable
                  : emit == Emit::Shared   ? LinkKind::Shared
                                           : LinkKind::Object;
  return linkArtefact(kind, paths, source.target.linkNeeds(), source.output);
}

// Writes all files beside the output, or none of them.
llvm::Error ArtefactWriter::writeBesides(WeightsImage &weights) const {
  if (hasHeader())
    if (llvm::Error error = writeModelHeader(source.output))
      return error;
  llvm::Error error = weights.commit();
  if (error && hasHeader())
    llvm::sys::fs::remove(modelHeaderPath(source.output));
  return error;
}

llvm::Error ArtefactWriter::write(llvm::StringRef bytes, WrittenFiles &written) {
  auto code = generate();
  if (!code)
    return code.takeError();
  auto weights = writeWeights(source.weights, plan, source.output);
  if (!weights)
    return weights.takeError();
  ModelObject data;
  data.name = name;
  data.plan = bytes;
  data.isMain = emit != Emit::Object; // several objects may be linked into one program
  data.weightsFile = weights->file;
  data.weightsChecksum = weights->checksum;
  if (weights->embedded)
    data.weights = weights->embedded->getBuffer();
  data.image = code->deviceImage;
  if (llvm::Error error = addKernels(data, *code))
    return error;
  llvm::append_range(data.facts, rt::sealsOf(plan, bytes.data(), bytes.size()));
  auto object = emitModelObject(data);
  if (!object)
    return object.takeError();
  code->objects.insert(code->objects.begin(), std::move(*object));
  if (llvm::Error error = link(code->objects))
    return error;
  if (llvm::Error error = writeBesides(*weights)) {
    llvm::sys::fs::remove(source.output); // useless without the other files
    return error;
  }
  note(*weights, written);
  written.setKernelCache(code->cacheFolder);
  return llvm::Error::success();
}

void ArtefactWriter::note(const WeightsImage &weights, WrittenFiles &written) const {
  std::string content = emit == Emit::Executable ? "program" : emit == Emit::Shared ? "shared library" : "object file";
  written.add(source.output, content + (weights.embedded ? " with its weights" : ""));
  if (!weights.file.empty())
    written.add(weightsPathBeside(source.output), "its weights, which it reads when it starts");
  if (hasHeader())
    written.add(modelHeaderPath(source.output), "C header");
}

} // namespace

llvm::Error cleave::writeArtefact(const ArtefactSource &source, const rt::fb::Plan &plan, llvm::StringRef bytes,
                                  WrittenFiles &written, llvm::raw_ostream &log) {
  return ArtefactWriter(source, plan, log).write(bytes, written);
}
