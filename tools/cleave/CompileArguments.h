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

// The compile command's options as typed; turned into CompileOptions after parsing.
struct CompileTexts {
  std::vector<std::string> dims, mesh, inserts;
  std::string emit = "executable", stopAfter = "link", bucketSize, memoryLimit;
  std::string forwardPrefetch = "on", ignoredLabel = "-100";
  std::vector<CLI::Option *> prefetch; // options about gathers
  CLI::Option *schedule = nullptr, *stageSplit = nullptr; // whether they were given
  CLI::Option *lossIgnoreIndex = nullptr, *lossClassDim = nullptr;
  CLI::Option *fsdpStrategy = nullptr, *fsdpUnits = nullptr; // whether they were given
};

// Declares the options; parsing writes into `o` and `t`, which live as long as `app`. Help lists them in this order.
void addCompileOptions(CLI::App &app, CompileOptions &o, CompileTexts &t);
// The help of --optimizer, with the optimizers of the plug-ins that are loaded.
std::string describeOptimizers();
// The phases, as options and errors name them.
std::string phaseNames();

// After parsing: reads the texts, and throws CLI::ValidationError where options do not fit together.
void finishCompileOptions(const CLI::App &app, CompileOptions &o, const CompileTexts &t);

} // namespace cleave

#endif
