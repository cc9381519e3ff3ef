// What cleave-opt knows, in two parts, because they cost so differently: naming every upstream dialect and pass takes
// the compiler a minute and 2.6 GB, so it stands alone in a file that nobody edits; our own list changes all the time.
#ifndef CLEAVE_TOOLS_CLEAVE_OPT_REGISTER_H
#define CLEAVE_TOOLS_CLEAVE_OPT_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace cleave {

// Every dialect, extension and pass of MLIR itself.
void registerUpstream(mlir::DialectRegistry &registry);
// Every dialect and pass of Cleave. A new Passes.td gets its line here.
void registerCleave(mlir::DialectRegistry &registry);

} // namespace cleave

#endif
