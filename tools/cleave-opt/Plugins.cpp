#include "tools/cleave-opt/Plugins.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace cleave;

static llvm::Error loadPlugin(const std::string &path, mlir::DialectRegistry &registry) {
  auto passes = mlir::PassPlugin::load(path);
  if (!passes)
    return passes.takeError();
  passes->registerPassRegistryCallbacks();
  if (auto dialect = mlir::DialectPlugin::load(path))
    dialect->registerDialectRegistryCallbacks(registry);
  else
    llvm::consumeError(dialect.takeError());
  return llvm::Error::success();
}

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
    else if (llvm::Error error = loadPlugin(path->str(), registry))
      return error;
    it = next;
  }
  others.push_back(nullptr);
  return others;
}
