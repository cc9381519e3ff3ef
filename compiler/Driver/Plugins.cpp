#include "compiler/Driver/Plugins.h"

#include "compiler/Driver/PluginFile.h"
#include "compiler/Import/Registry/OperatorRegistry.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/Usage.h"
#include "compiler/Training/Optimizers/Optimizer.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/FileSystem.h"

using namespace cleave;

static llvm::Error loadPlugin(const std::string &given, mlir::DialectRegistry &registry) {
  // The loader searches a name without a slash among the system's libraries.
  llvm::SmallString<256> path(given);
  llvm::sys::fs::make_absolute(path);
  if (!isRegularFile(path))
    return makeError(llvm::sys::fs::exists(path) ? "is not a regular file; expected a shared library" : "no such file");
  if (llvm::Error error = checkWholeLibrary(path))
    return error;
  auto passes = mlir::PassPlugin::load(path.str().str());
  if (!passes) {
    std::string why = llvm::toString(passes.takeError());
    if (llvm::StringRef known = "Plugin entry point not found"; llvm::StringRef(why).starts_with(known))
      why = known.str(); // MLIR's text repeats the file's name
    return makeError("not a library of passes: " + why +
                     "; expected a shared library that defines mlirGetPassPluginInfo()");
  }
  passes->registerPassRegistryCallbacks();
  // A library may also contain a dialect. It is no error if it does not.
  if (auto dialect = mlir::DialectPlugin::load(path.str().str()))
    dialect->registerDialectRegistryCallbacks(registry);
  else
    llvm::consumeError(dialect.takeError());
  return llvm::joinErrors(checkRegistrations(), checkOptimizers());
}

llvm::Error cleave::loadPlugins(llvm::ArrayRef<std::string> paths, mlir::DialectRegistry &registry) {
  for (const std::string &path : paths)
    if (llvm::Error error = loadPlugin(path, registry))
      return usageError("--load-pass-plugin " + path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}
