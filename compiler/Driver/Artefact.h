// Finds the plan in whatever `cleave compile` may have written: a .plan file, an object, a shared library, an
// executable.
#ifndef CLEAVE_COMPILER_DRIVER_ARTEFACT_H
#define CLEAVE_COMPILER_DRIVER_ARTEFACT_H

#include "runtime/plan/Plan_generated.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace cleave {

// A checked plan and the bytes it lies in.
class Artefact {
public:
  // Fails when the file cannot be read, carries no plan, or the plan is damaged or of another version.
  static llvm::Expected<Artefact> open(llvm::StringRef path);

  const rt::fb::Plan &plan() const { return *plan_; }
  // Whether the file has machine code beside the plan. open() has compared the plan's facts with it (KernelFacts.h).
  bool hasCode() const { return hasCode_; }

private:
  llvm::Error read(llvm::StringRef plan, llvm::StringRef path);

  std::unique_ptr<llvm::MemoryBuffer> bytes_; // of the plan alone, aligned
  const rt::fb::Plan *plan_ = nullptr;
  bool hasCode_ = false;
};

} // namespace cleave

#endif
