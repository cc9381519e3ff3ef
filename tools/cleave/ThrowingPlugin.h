// Finds the plug-in whose exception ends `cleave`. The compiler is built without exceptions, so nothing catches an
// exception between the plug-in's code and main(). When the program ends, the stack is still there, and has the
// plug-in's code.
#ifndef CLEAVE_TOOLS_CLEAVE_THROWINGPLUGIN_H
#define CLEAVE_TOOLS_CLEAVE_THROWINGPLUGIN_H

#include <string>
#include <vector>

namespace cleave {

// Remembers the files of --load-pass-plugin. To be called before they are loaded.
void watchPlugins(const std::vector<std::string> &files);
// Returns the innermost plug-in whose code is on the stack of this thread, as the user named it; empty if there is
// none.
std::string pluginOnStack();

} // namespace cleave

#endif
