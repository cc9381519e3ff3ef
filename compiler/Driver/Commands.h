// The small commands of `cleave`: they show artefacts, prove their plans, measure the machine and make bundles.
// Export/Export.h has the command that writes weights back to ONNX.
#ifndef CLEAVE_COMPILER_DRIVER_COMMANDS_H
#define CLEAVE_COMPILER_DRIVER_COMMANDS_H

#include "runtime/plan/PlanReader.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace cleave {

enum class InspectForm {
  Summary,    // one screen for people
  Details,    // the summary in exact bytes, with units and ports
  Parameters, // how each tensor is stored
  Timeline,   // memory use over a step, and the values that are live at the peak
  Text,       // every instruction
  Json
};

struct InspectOptions {
  InspectForm form = InspectForm::Summary;
  std::string html;    // instead of printing: the page to write (compiler/Inspect/Page.h)
  std::string trace;   // trace of a run; its step of a pipeline is drawn beside the predicted one
  std::string profile; // profile of a run: a trace of each kernel
  std::string machine; // the machine for which the step time is predicted (TargetMachineOption.h)
};

// Prints the needs and the content of the artefact's plan.
llvm::Error inspect(llvm::StringRef artefact, const InspectOptions &options, llvm::raw_ostream &out);

// Prints the differences between two plans.
llvm::Error diff(llvm::StringRef a, llvm::StringRef b, llvm::raw_ostream &out);

// Checks what no rule of the plan can tell: the scratch that libraries need, and the traffic of generated kernels. The
// error names `path`, the file that is verified or written.
llvm::Error verifyKernelTable(const rt::fb::Plan &plan, llvm::StringRef path);

// Proves the plan over all ranks. Prints one line, or fails with every finding.
llvm::Error verify(llvm::StringRef artefact, llvm::raw_ostream &out);

struct CalibrateRequest {
  std::string output;  // empty: the user's cache (TargetMachineOption.h)
  int64_t threads = 0; // 0: as programs: all cores and, for several ranks, one
};

// Measures this machine for the cost model, and writes one file for each number of threads.
llvm::Error calibrate(const CalibrateRequest &request, llvm::raw_ostream &out);

struct BundleRequest {
  std::vector<std::string> objects; // of --emit object
  std::string output;               // a folder that does not exist yet
};

// Writes a folder from which a machine without Cleave can build the programs of these models: the objects, the sources
// of the runtime, and a script. It appears complete or not at all.
llvm::Error bundle(const BundleRequest &request, llvm::raw_ostream &out);

} // namespace cleave

#endif
