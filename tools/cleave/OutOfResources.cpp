// This file is compiled with exceptions: std::thread reports errors by them, and nothing catches them on the way.
#include "tools/cleave/OutOfResources.h"

#include "runtime/base/Printable.h"
#include "tools/cleave/ThrowingPlugin.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <unistd.h>

namespace {

// The message is not built here, because there may be no memory for it.
[[noreturn]] void leave(const char *message, int code = 1) {
  llvm::sys::RunInterruptHandlers(); // removes files that are being written
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, message, std::strlen(message));
  ::_exit(code);
}

[[noreturn]] void leaveForMemory() {
  leave("cleave: error: out of memory; expected more memory in the machine or the container, or a higher limit (ulimit "
        "-v)\n");
}

[[noreturn]] void leaveForThread() {
  leave("cleave: error: the system refuses this process another thread; raise the limits of processes and memory "
        "(ulimit -u, ulimit -v)\n");
}

// Returns if no plug-in's code is on the stack: then the exception is a defect of the compiler.
void leaveForPlugin(const char *what) {
  std::string plugin = cleave::pluginOnStack();
  if (plugin.empty())
    return;
  std::string message = "--load-pass-plugin " + plugin + ": it threw an exception" + (*what ? ": " : "") + what +
                        "; nothing catches it, because the compiler is built without exceptions. Code of a plug-in "
                        "reports errors as MLIR does (emitError, signalPassFailure)";
  leave(("cleave: error: " + cleave::rt::printable(message) + "\n").c_str(), 2);
}

// All other fatal errors of LLVM are defects. They are reported in LLVM's words.
void failed(void *, const char *reason, bool) {
  if (std::strstr(reason, "pthread_create"))
    leaveForThread();
  llvm::errs() << "LLVM ERROR: " << reason << "\n";
}

[[noreturn]] void terminated() {
  if (std::exception_ptr thrown = std::current_exception())
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc &) {
      leaveForMemory();
    } catch (const std::system_error &error) {
      if (error.code() == std::errc::resource_unavailable_try_again)
        leaveForThread();
      leaveForPlugin(error.what());
    } catch (const std::exception &error) {
      leaveForPlugin(error.what());
    } catch (...) {
      leaveForPlugin("");
    }
  std::abort();
}

} // namespace

void cleave::endWhereResourcesEnd() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { leaveForMemory(); });
  llvm::install_fatal_error_handler(failed);
  std::set_terminate(terminated);
}
