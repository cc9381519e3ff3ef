// LLVM's code generator for the host's processors.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_MACHINECODE_H
#define CLEAVE_COMPILER_CODEGEN_HOST_MACHINECODE_H

#include "compiler/Codegen/Host/HostTarget.h"
#include "compiler/Codegen/Loops/LowerToLLVM.h"

#include <memory>

namespace cleave {

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const HostTarget &target);
// Lets multiply-adds round twice, for processors that cannot fuse them.
void splitFusedMultiplyAdds(llvm::Module &module);
// Returns the object file with another name for one of its symbols.
llvm::Expected<std::string> renameSymbol(llvm::StringRef object, llvm::StringRef from, llvm::StringRef to);

} // namespace cleave

#endif
