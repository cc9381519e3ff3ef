#include "compiler/Driver/Artefact.h"

#include "compiler/Codegen/Host/ModelObject.h"
#include "compiler/Support/Error.h"
#include "runtime/plan/PlanReader.h"

#include "llvm/Object/ObjectFile.h"

using namespace cleave;

namespace {

// The bytes of the plan within a file.
llvm::Expected<llvm::StringRef> findPlan(llvm::MemoryBufferRef file) {
  llvm::StringRef bytes = file.getBuffer();
  if (bytes.size() >= 8 && bytes.substr(4, 4) == rt::fb::PlanIdentifier())
    return bytes;
  auto object = llvm::object::ObjectFile::createObjectFile(file);
  if (!object) {
    llvm::consumeError(object.takeError());
    return makeError(file.getBufferIdentifier() + ": neither a plan nor a program that `cleave compile` wrote");
  }
  for (const llvm::object::SectionRef &section : (*object)->sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name == planSection)
      return section.getContents();
  }
  return makeError(file.getBufferIdentifier() + ": has no section '" + planSection +
                   "'; expected a program that `cleave compile` wrote");
}

} // namespace

llvm::Expected<Artefact> Artefact::open(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return makeError(path + ": " + file.getError().message());
  auto bytes = findPlan(**file);
  if (!bytes)
    return bytes.takeError();
  Artefact artefact;
  // The copy is aligned as the plan's reader wants it, wherever the section lay in the file.
  artefact.bytes_ = llvm::MemoryBuffer::getMemBufferCopy(*bytes, path);
  const llvm::MemoryBuffer &copy = *artefact.bytes_;
  if (rt::Status status = rt::openPlan(copy.getBufferStart(), copy.getBufferSize(), &artefact.plan_); !status.isOk())
    return makeError(path + ": " + status.message());
  return artefact;
}
