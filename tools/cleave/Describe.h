// Descriptions of the command line for other programs: completion scripts of shells, and the manual page. Both are made
// from the parser's own options, so they cannot differ from it.
#ifndef CLEAVE_TOOLS_CLEAVE_DESCRIBE_H
#define CLEAVE_TOOLS_CLEAVE_DESCRIBE_H

#include <CLI/CLI.hpp>

#include <string>

namespace cleave {

// Returns a script for `bash`, `zsh` or `fish` that completes commands, options and file names.
std::string completionScript(const CLI::App &app, const std::string &shell);

// Returns the manual page cleave(1) in the format of troff.
std::string manualPage(const CLI::App &app, const std::string &version);

} // namespace cleave

#endif
