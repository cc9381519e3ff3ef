// The options of `cleave compile` on the command line.
#ifndef CLEAVE_TOOLS_CLEAVE_COMPILEARGUMENTS_H
#define CLEAVE_TOOLS_CLEAVE_COMPILEARGUMENTS_H

#include "compiler/Driver/Options.h"

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace cleave {

// The compile command's options as they were typed. finishCompileOptions() turns them into CompileOptions.
struct CompileTexts {
  std::vector<std::string> dims, mesh, inserts;
  std::string emit = "executable", stopAfter = "link", bucketSize, memoryLimit;
  std::string forwardPrefetch = "on", ignoredLabel = "-100";
  std::vector<CLI::Option *> prefetch;                    // options about gathers
  CLI::Option *schedule = nullptr, *stageSplit = nullptr; // to know whether they were given
  CLI::Option *lossIgnoreIndex = nullptr, *lossClassDim = nullptr;
  CLI::Option *fsdpStrategy = nullptr, *fsdpUnits = nullptr; // to know whether they were given
};

// Declares the options. Parsing writes to `o` and `t`, which must live as long as `app`. Help lists the options in this
// order.
void addCompileOptions(CLI::App &app, CompileOptions &o, CompileTexts &t);
// Writes the help of --optimizer, with the optimizers of the plug-ins that are loaded.
void describeOptimizers(CLI::Option &option);
// The names of the phases up to `last`, separated by commas.
std::string phaseNames(Phase last = Phase::Link);

// To be called after parsing. Reads the texts, and throws CLI::ValidationError if options do not fit together.
void finishCompileOptions(const CLI::App &app, CompileOptions &o, const CompileTexts &t);

} // namespace cleave

#endif
