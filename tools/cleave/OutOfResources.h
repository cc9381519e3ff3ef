// If the system refuses memory or a thread, `cleave` ends with one line, and leaves no unfinished file. It ends in the
// same way if a plug-in throws an exception.
//
// Without this, LLVM would report a crash, ask for a bug report and print a stack.
#ifndef CLEAVE_TOOLS_CLEAVE_OUTOFRESOURCES_H
#define CLEAVE_TOOLS_CLEAVE_OUTOFRESOURCES_H

namespace cleave {

// To be called once, after llvm::InitLLVM, which installs handlers of its own.
void endWhereResourcesEnd();

} // namespace cleave

#endif
