// Finds the plan in any file that `cleave compile` may have written: a .plan file, an object, a shared library, an
// executable.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_ARTEFACT_H
#define CLEAVE_COMPILER_DRIVER_FILES_ARTEFACT_H

#include "runtime/plan/Plan_generated.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace llvm::object {
class ObjectFile;
}

namespace cleave {

// A checked plan, and the bytes that contain it.
class Artefact {
public:
  // Fails if the file cannot be read or contains no plan, or if the plan is damaged or of another version.
  static llvm::Expected<Artefact> open(llvm::StringRef path);

  const rt::fb::Plan &plan() const { return *plan_; }
  // True if the file contains machine code, too. open() has checked that the plan agrees with the code (KernelFacts.h).
  bool hasCode() const { return hasCode_; }

private:
  llvm::Error read(llvm::StringRef plan, llvm::StringRef path);
  // The same, and compares the plan with the code of the object that it is in.
  llvm::Error readWithCode(llvm::StringRef plan, const llvm::object::ObjectFile &object, llvm::StringRef path);

  std::unique_ptr<llvm::MemoryBuffer> bytes_; // only the plan, aligned
  const rt::fb::Plan *plan_ = nullptr;
  bool hasCode_ = false;
};

} // namespace cleave

#endif
