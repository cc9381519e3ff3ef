#include "tools/cleave-opt/Plugins.h"

#include "compiler/Driver/Plugins.h"

using namespace cleave;

llvm::Expected<std::vector<char *>> cleave::takePlugins(std::vector<char *> arguments,
                                                        mlir::DialectRegistry &registry) {
  std::vector<char *> others;
  for (auto it = arguments.begin(); it != arguments.end();) {
    auto next = std::next(it);
    llvm::StringRef text = *it, name = text.ltrim('-');
    std::optional<llvm::StringRef> path;
    if (text != name && name == "load-pass-plugin" && next != arguments.end())
      path = *next++;
    else if (text != name && name.consume_front("load-pass-plugin="))
      path = name;
    if (!path)
      others.push_back(*it);
    else if (llvm::Error error = loadPlugins({path->str()}, registry))
      return error;
    it = next;
  }
  others.push_back(nullptr);
  return others;
}
