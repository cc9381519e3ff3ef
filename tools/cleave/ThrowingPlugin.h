// Who is to blame where an exception ends `cleave`: the compiler is built without exceptions, so that none is caught on
// the way from a plug-in's code to main(). At the end the stack is still there, and the plug-in's code is on it.
#ifndef CLEAVE_TOOLS_CLEAVE_THROWINGPLUGIN_H
#define CLEAVE_TOOLS_CLEAVE_THROWINGPLUGIN_H

#include <string>
#include <vector>

namespace cleave {

// The files of --load-pass-plugin, before they are loaded.
void watchPlugins(const std::vector<std::string> &files);
// The innermost one whose code is on the stack of this thread, as the user named it; empty where none is.
std::string pluginOnStack();

} // namespace cleave

#endif
