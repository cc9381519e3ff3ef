// Registers everything that cleave-opt knows, in two parts with very different costs. Naming every upstream dialect and
// pass takes a minute and 2.6 GB to compile, so it is a separate file that nobody edits. Cleave's own list changes
// often.
#ifndef CLEAVE_TOOLS_CLEAVE_OPT_REGISTER_H
#define CLEAVE_TOOLS_CLEAVE_OPT_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace cleave {

// Every dialect, extension and pass of MLIR itself.
void registerUpstream(mlir::DialectRegistry &registry);
// Every dialect and pass of Cleave. A new Passes.td needs a line here.
void registerCleave(mlir::DialectRegistry &registry);

} // namespace cleave

#endif
