// Memory or a thread that the system does not give ends `cleave` with one line, and without half of a file. So does an
// exception that a plug-in throws.
//
// Without this, LLVM reports a crash, asks for a bug report and prints a stack.
#ifndef CLEAVE_TOOLS_CLEAVE_OUTOFRESOURCES_H
#define CLEAVE_TOOLS_CLEAVE_OUTOFRESOURCES_H

namespace cleave {

// Once, after llvm::InitLLVM, which has handlers of its own.
void endWhereResourcesEnd();

} // namespace cleave

#endif
