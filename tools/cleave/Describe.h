// What the command line describes about itself, for others to read: completion of shells, and the manual page. Both are
// made of the parser's own options, so that they cannot differ from it.
#ifndef CLEAVE_TOOLS_CLEAVE_DESCRIBE_H
#define CLEAVE_TOOLS_CLEAVE_DESCRIBE_H

#include <CLI/CLI.hpp>

#include <string>

namespace cleave {

// A script for `bash`, `zsh` or `fish` that completes commands, options and file names.
std::string completionScript(const CLI::App &app, const std::string &shell);

// The manual page cleave(1), as troff reads it.
std::string manualPage(const CLI::App &app, const std::string &version);

} // namespace cleave

#endif
