// The small commands of `cleave`: looking into artefacts, proving them, and bringing weights back to ONNX.
#ifndef CLEAVE_COMPILER_DRIVER_COMMANDS_H
#define CLEAVE_COMPILER_DRIVER_COMMANDS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace cleave {

enum class InspectForm {
  Summary,    // one screen for people
  Details,    // the same in exact bytes, with units and ports
  Parameters, // how each tensor is kept
  Timeline,   // memory in use over a step, and what lives at the peak
  Text,       // every instruction
  Json
};

struct InspectOptions {
  InspectForm form = InspectForm::Summary;
  std::string html;  // instead of printing: the page to write (compiler/Inspect/Page.h)
  std::string trace; // of a run: the measured step of a pipeline is drawn beside the predicted one
  std::string profile; // of a run: its trace, kernel by kernel
  std::string machine; // how long a step takes on it (TargetMachineOption.h)
};

// Prints what the artefact's plan needs and does.
llvm::Error inspect(llvm::StringRef artefact, const InspectOptions &options, llvm::raw_ostream &out);

// Prints in what two plans differ.
llvm::Error diff(llvm::StringRef a, llvm::StringRef b, llvm::raw_ostream &out);

// Proves the plan over all ranks; prints one line, or fails with every finding.
llvm::Error verify(llvm::StringRef artefact, llvm::raw_ostream &out);

struct CalibrateRequest {
  std::string output; // empty: the user's cache (TargetMachineOption.h)
  int64_t threads = 0; // 0: those that programs are compiled for, which are all cores or, with several ranks, one
};

// Measures this machine for the cost model, and writes what it found: a file for each number of threads.
llvm::Error calibrate(const CalibrateRequest &request, llvm::raw_ostream &out);

struct BundleRequest {
  std::vector<std::string> objects; // of --emit object
  std::string output;               // a folder that is not there yet
};

// Writes a folder from which a machine without Cleave builds the programs of these models: the objects, the sources of
// the runtime, and a script. It appears whole or not at all.
llvm::Error bundle(const BundleRequest &request, llvm::raw_ostream &out);

struct ExportRequest {
  std::string checkpoint; // a checkpoint, or a directory of them
  std::string model;      // the ONNX file whose weights are replaced
  std::string output;
  std::vector<std::string> outputs; // of the model, to be kept (KeptOutputs.h); empty: all
};

// Writes the model with the weights of the checkpoint in place of its initializers. Above the limit, which keeps clear of
// protobuf's of 2 GiB, they lie beside it in OUTPUT.data.
llvm::Error exportCheckpoint(const ExportRequest &request, llvm::raw_ostream &out, uint64_t embeddedLimit = 1ull << 30);

} // namespace cleave

#endif
