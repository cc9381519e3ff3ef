// `cleave compile --config FILE`: a file of options, as a JSON object. Its keys are those of the long options, without the
// dashes. Values are texts, numbers, booleans, or lists of them:
//
//   {"train": true, "dim": ["batch=8", "length=64"]}
#ifndef CLEAVE_TOOLS_CLEAVE_CONFIGFILE_H
#define CLEAVE_TOOLS_CLEAVE_CONFIGFILE_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cleave {

// Replaces every "--config FILE" by the options in the file, which must be options of `compile`. Adds the names of the
// files to `files`. Throws CLI::ValidationError if a file cannot be read or has another form.
std::vector<std::string> expandConfig(int argc, const char *const *argv, const CLI::App &compile,
                                      std::vector<std::string> &files);

} // namespace cleave

#endif
