#include "runtime/device/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <mutex>
#include <string>

namespace cleave::rt::cuda {

namespace {

// The library that an environment variable names, or the first of `names` that there is.
Status openLibrary(const char *variable, std::initializer_list<const char *> names, const char *hint, void **library) {
  const char *chosen = std::getenv(variable);
  std::string errors;
  auto tryOpen = [&](const char *name) {
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
      errors += (errors.empty() ? "" : "; ") + std::string(dlerror());
    return *library != nullptr;
  };
  if (chosen && *chosen)
    return tryOpen(chosen) ? Status::ok() : notFound(std::string(variable) + ": " + errors);
  for (const char *name : names)
    if (tryOpen(name))
      return Status::ok();
  return notFound(std::string("this program was compiled for an NVIDIA GPU: ") + hint + " (" + errors + ")");
}

Status findEntry(void *library, const char *symbol, const char *needs, void **entry) {
  *entry = dlsym(library, symbol);
  return *entry ? Status::ok()
                : notFound(std::string("the installed ") + needs + " is too old: it has no function '" + symbol + "'");
}

Status load(Driver *driver) {
  void *library = nullptr;
  CLEAVE_TRY(openLibrary("CLEAVE_LIBCUDA", {"libcuda.so.1"},
                         "it needs NVIDIA's driver, which is not installed here; compile the model with --target host "
                         "for this machine",
                         &library));
#define CLEAVE_CUDA_ENTRY(member, symbol, parameters)                                                                  \
  CLEAVE_TRY(findEntry(library, #symbol, "NVIDIA driver", reinterpret_cast<void **>(&driver->member)));
#include "runtime/device/cuda/Driver.def"
  return Status::ok();
}

Status load(BlasLt *blas) {
  void *library = nullptr;
  CLEAVE_TRY(openLibrary("CLEAVE_LIBCUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"},
                         "its matrix products need cuBLASLt 12 or 13, which is not on the library path; install the "
                         "CUDA libraries, or name the file in CLEAVE_LIBCUBLASLT",
                         &library));
#define CLEAVE_BLASLT_ENTRY(member, symbol, parameters)                                                                \
  CLEAVE_TRY(findEntry(library, #symbol, "cuBLASLt", reinterpret_cast<void **>(&blas->member)));
#include "runtime/device/cuda/BlasLt.def"
  return Status::ok();
}

// A library is never closed: its threads may outlive main.
template <typename Table> struct Opened {
  std::once_flag once;
  Table table;
  std::string error;
};

Opened<Driver> openedDriver;
Opened<BlasLt> openedBlas;

template <typename Table> Status openOnce(Opened<Table> &opened, const Table **table) {
  std::call_once(opened.once, [&] {
    if (Status status = load(&opened.table); !status.isOk())
      opened.error = status.message();
  });
  *table = &opened.table;
  return opened.error.empty() ? Status::ok() : notFound(opened.error);
}

} // namespace

Status openDriver(const Driver **driver) { return openOnce(openedDriver, driver); }
Status openBlasLt(const BlasLt **library) { return openOnce(openedBlas, library); }

Status check(Result result, const char *what) {
  if (result == 0)
    return Status::ok();
  const Driver &driver = openedDriver.table;
  const char *name = nullptr, *text = nullptr;
  driver.errorName(result, &name);
  driver.errorText(result, &text);
  std::string message = std::string("CUDA: ") + what + " failed with error " + std::to_string(result) +
                        (name ? std::string(" (") + name + ")" : "") + (text ? std::string(": ") + text : "");
  if (result == kErrorOutOfMemory)
    return {Code::OutOfMemory, message};
  return internal(message);
}

Status checkBlas(Result result, const char *what) {
  if (result == 0)
    return Status::ok();
  return internal(std::string("cuBLASLt: ") + what + " failed with status " + std::to_string(result));
}

} // namespace cleave::rt::cuda
