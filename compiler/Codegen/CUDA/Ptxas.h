// NVIDIA's assembler, where it is installed: it makes machine code (a cubin) of PTX, and says what each kernel takes.
// Without it programs have PTX alone, which the driver compiles when they start.
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

// Of one thread, but for `sharedBytes`, which are of a block.
struct PtxasResources {
  uint64_t registers = 0, sharedBytes = 0, stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
};

// This ptxas is of a time before the architecture, or before the version of PTX. It is no defect of the PTX.
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

  // The file that CLEAVE_PTXAS names; none where that is `off`. Else on PATH, in $CUDA_PATH/bin, $CUDA_HOME/bin or
  // /usr/local/cuda/bin.
  static llvm::Expected<std::optional<Ptxas>> find();
  static bool isOff();

  // Of the entries that are named, or of all where none is. An error has ptxas' words and names the entry where they tell
  // it. A cache gives what was assembled before by this version of ptxas.
  llvm::Expected<Code> assemble(llvm::StringRef ptx, llvm::StringRef chip, const std::set<std::string> &entries,
                                const KernelCache *cache) const;

private:
  struct Output {
    std::string cubin, log;
  };
  llvm::Expected<Output> run(llvm::StringRef ptx, llvm::ArrayRef<std::string> options) const;

  std::string program, version;
};

// What `ptxas -v` has written.
std::map<std::string, PtxasResources> parsePtxasLog(llvm::StringRef log);

// Why ptxas failed, of what it has written about a PTX text: its first error, with the entry that is at its line.
std::string ptxasComplaint(llvm::StringRef log, llvm::StringRef ptx);

// A module for sm_90a of these entries of a module for all GPUs, where at least one has a form for sm_90a alone; else
// empty. That form of NAME is the entry NAME_sm_90a, in which comments `//sm_90a: ...` are instructions that PTX for
// other GPUs cannot have, and lines that end in `//not sm_90a` are left out (kernels/attention/cuda/Wgmma.cuh).
std::string textForSm90a(llvm::StringRef ptx, const std::set<std::string> &entries);

// The module taken apart: entry -> a module with the same head and this entry alone, which ptxas takes.
std::map<std::string, std::string> splitEntries(llvm::StringRef ptx);

} // namespace cleave

#endif
