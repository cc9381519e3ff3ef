// NVIDIA's assembler, if it is installed. It makes machine code (a cubin) of PTX, and reports the resources of each
// kernel. Without it, programs have only PTX, which the driver compiles when they start.
//
//   auto ptxas = Ptxas::find();                                // an error: CLEAVE_PTXAS names no program
//   if (*ptxas)
//     auto code = (*ptxas)->assemble(image.ptx, "sm_90", {}, cache); // code->resources["cleave_gpt_k0"].registers
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_PTXAS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_PTXAS_H

#include "compiler/Codegen/Host/KernelCache.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cleave {

// The resources of one thread, except that `sharedBytes` are those of a block.
struct PtxasResources {
  uint64_t registers = 0, sharedBytes = 0, stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
};

// This ptxas is older than the architecture, or than the version of PTX. The PTX is not wrong.
class PtxasTooOld : public llvm::ErrorInfo<PtxasTooOld> {
public:
  static char ID;
  explicit PtxasTooOld(std::string message) : message(std::move(message)) {}
  const std::string &getMessage() const { return message; }
  void log(llvm::raw_ostream &stream) const override { stream << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string message;
};

class Ptxas {
public:
  struct Code {
    std::string cubin;
    std::map<std::string, PtxasResources> resources; // of each entry, by its name
  };

  // Returns the program that CLEAVE_PTXAS names, or none if that is `off`. Otherwise the one on PATH, in
  // $CUDA_PATH/bin, $CUDA_HOME/bin or /usr/local/cuda/bin, or none. Fails if the program does not work.
  static llvm::Expected<std::optional<Ptxas>> find();
  static bool isOff();

  // Assembles the named entries, or all if none is named. An error has ptxas' text, and names the entry if the text
  // identifies it. If a cache is given, it may return code that this version of ptxas assembled before.
  llvm::Expected<Code> assemble(llvm::StringRef ptx, llvm::StringRef chip, const std::set<std::string> &entries,
                                const KernelCache *cache) const;

private:
  struct Output {
    std::string cubin, log;
  };
  llvm::Expected<Output> run(llvm::StringRef ptx, llvm::ArrayRef<std::string> options) const;

  std::string program, version;
};

// Reads the resources of each entry from the output of `ptxas -v`.
std::map<std::string, PtxasResources> parsePtxasLog(llvm::StringRef log);

// Returns why ptxas failed: the first error that it reported about a PTX text, with the entry that is at its line.
std::string ptxasComplaint(llvm::StringRef log, llvm::StringRef ptx);

// Returns a module for sm_90a of these entries of a module for all GPUs, if at least one has a form for sm_90a alone;
// otherwise an empty text. This form of NAME is the entry NAME_sm_90a. In it, comments `//sm_90a: ...` are instructions
// that PTX for other GPUs cannot have, and lines that end in `//not sm_90a` are left out
// (kernels/attention/cuda/Wgmma.cuh).
std::string textForSm90a(llvm::StringRef ptx, const std::set<std::string> &entries);

// Splits the module: maps each entry to a module with the same head and only this entry, which ptxas accepts.
std::map<std::string, std::string> splitEntries(llvm::StringRef ptx);

} // namespace cleave

#endif
