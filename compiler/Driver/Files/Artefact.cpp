#include "compiler/Driver/Files/Artefact.h"

#include "cleave/model.h"
#include "compiler/Codegen/Host/ModelObject.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/InputFile.h"
#include "runtime/base/ForeignFile.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Seals.h"

#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/Endian.h"

using namespace cleave;

using llvm::object::ObjectFile;

namespace {

bool isPlan(llvm::StringRef bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == rt::fb::PlanIdentifier(); }

// Returns the bytes of a section, or nullopt if there is no section of that name.
llvm::Expected<std::optional<llvm::StringRef>> findSection(const ObjectFile &object, llvm::StringRef wanted) {
  for (const llvm::object::SectionRef &section : object.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name != wanted)
      continue;
    auto contents = section.getContents();
    if (!contents)
      return contents.takeError();
    return *contents;
  }
  return std::nullopt;
}

// True if another plan seems to follow the first one in the section: a linker puts those of all models there.
bool hasSeveralPlans(llvm::StringRef section) {
  constexpr size_t kAlignment = 8; // at least that of a plan
  for (size_t at = kAlignment; at + kAlignment <= section.size(); at += kAlignment)
    if (isPlan(section.substr(at)))
      return true;
  return false;
}

// Returns one number for each kernel of the plan, as ModelObject has written them.
std::vector<uint64_t> factsOf(llvm::StringRef bytes) {
  std::vector<uint64_t> facts(bytes.size() / sizeof(uint64_t));
  for (size_t i = 0; i < facts.size(); ++i)
    facts[i] = llvm::support::endian::read64le(bytes.data() + i * sizeof(uint64_t));
  return facts;
}

// Returns the alignments that device code relies on, for each kernel of the plan. They are in the table
// cleave_model.device_kernels, whose pointers no linker has filled in yet.
std::vector<uint64_t> alignmentsOf(llvm::StringRef table) {
  std::vector<uint64_t> alignments(table.size() / sizeof(cleave_device_kernel));
  for (size_t i = 0; i < alignments.size(); ++i)
    alignments[i] = llvm::support::endian::read64le(table.data() + i * sizeof(cleave_device_kernel) +
                                                    offsetof(cleave_device_kernel, alignments));
  return alignments;
}

// Returns what is wrong with a file that is neither a plan nor an object file of this system.
std::string describeOther(llvm::StringRef path, llvm::StringRef bytes) {
  if (bytes.empty())
    return "the file is empty; expected a plan or a program that `cleave compile` wrote";
  if (path.ends_with(".onnx"))
    return "an ONNX model is not compiled yet: run `cleave compile` on it, and give the file that this writes";
  if (path.ends_with(".mlir"))
    return "this is a text of MLIR; expected a plan or a program that `cleave compile` wrote (`cleave-opt FILE "
           "--verify-plan=by-hand` verifies the text of a plan)";
  rt::FileFormat format = rt::formatOf({bytes.data(), bytes.size()});
  if (format == rt::FileFormat::Program)
    return "this program, library or object file is truncated or damaged; expected what `cleave compile` wrote";
  std::string name = rt::describeFormat(format);
  return (name.empty() ? "" : "this is " + name + ", and ") +
         "neither a plan nor a program that `cleave compile` wrote; run `cleave compile MODEL.onnx -o NAME`, and give "
         "NAME";
}

} // namespace

llvm::Error Artefact::read(llvm::StringRef plan, llvm::StringRef path) {
  // The copy has the alignment that the plan's reader needs, wherever the section is in the file.
  bytes_ = llvm::MemoryBuffer::getMemBufferCopy(plan, path);
  if (rt::Status status = rt::openPlan(bytes_->getBufferStart(), bytes_->getBufferSize(), &plan_); !status.isOk())
    return makeError(path + ": " + status.message());
  return llvm::Error::success();
}

llvm::Expected<Artefact> Artefact::open(llvm::StringRef path) {
  auto file = readInputFile(path, "a plan or a program that `cleave compile` wrote");
  if (!file)
    return file.takeError();
  Artefact artefact;
  if (isPlan((*file)->getBuffer())) {
    if (llvm::Error error = artefact.read((*file)->getBuffer(), path))
      return error;
    return artefact;
  }
  auto object = ObjectFile::createObjectFile(**file);
  if (!object) {
    llvm::consumeError(object.takeError());
    return makeError(path + ": " + describeOther(path, (*file)->getBuffer()));
  }
  auto plan = findSection(**object, planSection);
  if (!plan)
    return plan.takeError();
  if (!*plan)
    return makeError(path + ": this program or library has no plan in it; expected one that `cleave compile` wrote");
  if (llvm::Error error = artefact.readWithCode(**plan, **object, path)) {
    if (!hasSeveralPlans(**plan))
      return error;
    llvm::consumeError(std::move(error));
    return makeError(path + ": this file has the plans of several models; expected one: give the object file or the "
                            "shared library of each, as `cleave compile` wrote it");
  }
  return artefact;
}

llvm::Error Artefact::readWithCode(llvm::StringRef plan, const ObjectFile &object, llvm::StringRef path) {
  auto facts = findSection(object, factsSection);
  if (!facts)
    return facts.takeError();
  std::vector<uint64_t> ofCode = factsOf(facts->value_or(""));
  if (ofCode.size() < rt::kSeals)
    return makeError(path + ": has no section '" + factsSection + "'; expected a program that `cleave compile` wrote");
  size_t kernels = ofCode.size() - rt::kSeals;
  const uint64_t *seals = &ofCode[kernels];
  if (rt::Status status = rt::checkBytesSeal(plan.data(), plan.size(), seals[rt::kBytesSeal]); !status.isOk())
    return makeError(path + ": " + status.message());
  if (llvm::Error error = read(plan, path))
    return error;
  if (rt::Status status = rt::checkFacts(this->plan(), ofCode.data(), kernels); !status.isOk())
    return makeError(path + ": " + status.message());
  if (rt::Status status = rt::checkMeaningSeal(this->plan(), seals[rt::kMeaningSeal]); !status.isOk())
    return makeError(path + ": " + status.message());
  auto device = findSection(object, deviceSection);
  if (!device)
    return device.takeError();
  if (*device)
    if (rt::Status status = rt::checkAlignments(this->plan(), alignmentsOf(**device)); !status.isOk())
      return makeError(path + ": " + status.message());
  hasCode_ = true;
  return llvm::Error::success();
}
