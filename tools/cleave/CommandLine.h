// The command line of `cleave`. It is parsed into plain requests. Every mistake is reported in one line.
#ifndef CLEAVE_TOOLS_CLEAVE_COMMANDLINE_H
#define CLEAVE_TOOLS_CLEAVE_COMMANDLINE_H

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Export/Export.h"
#include "compiler/Driver/Options.h"

#include <string>
#include <variant>

namespace cleave {

struct InspectRequest {
  std::string artefact;
  InspectOptions options;
};
struct DiffRequest {
  std::string a, b;
};
struct VerifyRequest {
  std::string artefact;
};
// Help was printed, or the command line was wrong: the program must end with this exit code.
struct Exit {
  int code;
};

using Request =
    std::variant<CompileOptions, InspectRequest, DiffRequest, VerifyRequest, CalibrateRequest, BundleRequest,
                             ExportRequest, Exit>;

// Prints help to stdout and mistakes to stderr.
Request parseCommandLine(int argc, const char *const *argv);

} // namespace cleave

#endif
