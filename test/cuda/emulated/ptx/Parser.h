// Parses PTX text into its syntax tree.
#pragma once
#include "test/cuda/emulated/ptx/Syntax.h"
#include <string>

namespace cleave::emulated::ptx {

// Returns false and a message with the line if the text is no PTX, or uses an unknown directive. A NUL byte ends the
// text (LLVM's writer leaves one).
bool parse(const std::string &text, Module &module, std::string &error);

} // namespace cleave::emulated::ptx
