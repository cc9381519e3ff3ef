#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Compiler.h"
#include "compiler/Driver/Files/Artefact.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "compiler/Training/Pipeline.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Printable.h"
#include "runtime/base/StandardStreams.h"
#include "tools/cleave/CommandLine.h"
#include "tools/cleave/OutOfResources.h"
#include "tools/cleave/PrintableStream.h"
#include "tools/cleave/ThrowingPlugin.h"

#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdio>
#include <iostream>
#include <vector>

using namespace cleave;

namespace {

struct Runner {
  llvm::raw_ostream &out, &log;

  llvm::Error operator()(const CompileOptions &options) const {
    watchPlugins(options.passPlugins);
    return compile(options, log);
  }
  llvm::Error operator()(const InspectRequest &request) const {
    return inspect(request.artefact, request.options, out);
  }
  llvm::Error operator()(const DiffRequest &request) const { return diff(request.a, request.b, out); }
  llvm::Error operator()(const VerifyRequest &request) const { return verify(request.artefact, out); }
  llvm::Error operator()(const CalibrateRequest &request) const { return calibrate(request, llvm::outs()); }
  llvm::Error operator()(const BundleRequest &request) const { return bundle(request, out); }
  llvm::Error operator()(const ExportRequest &request) const { return exportCheckpoint(request, out); }
  llvm::Error operator()(const Exit &) const { return llvm::Error::success(); }
};

llvm::Error run(const Request &request) {
  PrintableStream out(llvm::outs()), log(llvm::errs());
  return std::visit(Runner{out, log}, request);
}

// Makes Ctrl-C remove unfinished files.
void removeOnSignal(const std::string &aside, bool isThere) {
  if (isThere)
    llvm::sys::RemoveFileOnSignal(aside);
  else
    llvm::sys::DontRemoveFileOnSignal(aside);
}

// LLVM handles these signals even if the program was started with them ignored (nohup). This keeps them ignored.
class IgnoredSignals {
public:
  IgnoredSignals() {
    for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}) {
      struct sigaction action;
      if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
        ignored.push_back(signal);
    }
  }
  void restore() const {
    for (int signal : ignored)
      std::signal(signal, SIG_IGN);
  }

private:
  std::vector<int> ignored;
};

} // namespace

int main(int argc, char **argv) {
  rt::openStandardStreams();
  IgnoredSignals ignored;
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(
      "cleave: error: the compiler has crashed. This is a defect of Cleave, or of a plug-in that it has "
      "loaded. A report needs the lines below, the command and the model.\n");
  endWhereResourcesEnd();
  ignored.restore();
  std::signal(SIGCHLD, SIG_DFL); // a caller that ignores it would leave no exit code of the linker to wait for
  std::signal(SIGXFSZ, SIG_IGN); // a file beyond the size limit then gives an error with a message, like a full disk
  rt::AtomicFile::watch(removeOnSignal);
  cleave::registerTraining();       // for --insert, in addition to passes of plug-ins
  mlir::registerTransformsPasses(); // canonicalize, cse and MLIR's other general ones
  Request request = parseCommandLine(argc, argv);
  if (const Exit *leave = std::get_if<Exit>(&request)) {
    std::cout.flush(); // CLI11 has printed help and version there
    if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout)
      return leave->code;
    llvm::errs() << "cleave: error: cannot write to stdout\n";
    return 1;
  }
  llvm::Error error = run(request);
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    std::error_code code = llvm::outs().error();
    llvm::outs().clear_error(); // otherwise LLVM would end the program with a message of its own
    error = llvm::joinErrors(std::move(error), makeError("cannot write to stdout: " + code.message()));
  }
  if (error) {
    int code = isUsageError(error) ? 2 : 1;
    llvm::SmallVector<llvm::StringRef> lines; // if there are several errors, each has a line
    std::string text = llvm::toString(std::move(error));
    llvm::SplitString(text, lines, "\n");
    for (llvm::StringRef line : lines)
      llvm::errs() << "cleave: error: " << rt::printable(line) << "\n";
    return code;
  }
  return 0;
}
