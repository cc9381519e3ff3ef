// What NVIDIA's assembler says of PTX, where it is installed; Cleave needs it for nothing else.
//
//   if (auto program = findPtxas())
//     auto told = assemble(*program, image.ptx, "sm_90"); // (*told)["cleave_gpt_k0"].registers
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_PTXAS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cleave {

// Of one thread, but for `sharedBytes`, which are of a block.
struct PtxasResources {
  uint64_t registers = 0, sharedBytes = 0, stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
};

// On PATH, else in $CUDA_PATH/bin, $CUDA_HOME/bin or /usr/local/cuda/bin.
std::optional<std::string> findPtxas();

// What `ptxas -v` says of each entry, by the entry's name. An error has ptxas' first words.
llvm::Expected<std::map<std::string, PtxasResources>> assemble(llvm::StringRef program, llvm::StringRef ptx,
                                                               llvm::StringRef chip);

// What `ptxas -v` has written.
std::map<std::string, PtxasResources> parsePtxasLog(llvm::StringRef log);

// The module taken apart: entry -> a module with the same head and this entry alone, which ptxas takes.
std::map<std::string, std::string> splitEntries(llvm::StringRef ptx);

} // namespace cleave

#endif
