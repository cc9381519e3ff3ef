#include "runtime/device/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <mutex>
#include <string>

namespace cleave::rt::cuda {

namespace {

constexpr int kOldestNccl = 21800;
constexpr size_t kOldestDnn = 90000;

// A library is never closed, and its table is never destroyed. Threads of the library, and threads that were left
// behind in its calls, may outlive main().
template <typename Table> struct Opened {
  std::once_flag once;
  Table table;
  std::string error;
};

auto &openedDriver = *new Opened<Driver>;
auto &openedBlas = *new Opened<BlasLt>;
auto &openedDnn = *new Opened<Dnn>;
auto &openedNccl = *new Opened<Nccl>;

// Opens the library that an environment variable names, or otherwise the first of `names` that exists.
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
  // A library of a later major version than the driver can be loaded, but does not work.
  const Driver &driver = openedDriver.table;
  int version = 0;
  bool isOld = driver.driverVersion && driver.driverVersion(&version) == 0 && version < 13000;
  const char *own = isOld ? "libcublasLt.so.12" : "libcublasLt.so.13";
  const char *other = isOld ? "libcublasLt.so.13" : "libcublasLt.so.12";
  CLEAVE_TRY(openLibrary("CLEAVE_LIBCUBLASLT", {own, other},
                         "its matrix products need cuBLASLt 12 or 13, which is not on the library path; install the "
                         "CUDA libraries, or name the file in CLEAVE_LIBCUBLASLT",
                         &library));
  CLEAVE_TRY(findEntry(library, "cublasLtGetVersion", "cuBLASLt", reinterpret_cast<void **>(&blas->version)));
  CLEAVE_TRY(findEntry(library, "cublasLtGetStatusString", "cuBLASLt", reinterpret_cast<void **>(&blas->statusText)));
#define CLEAVE_BLASLT_ENTRY(member, symbol, parameters)                                                                \
  CLEAVE_TRY(findEntry(library, #symbol, "cuBLASLt", reinterpret_cast<void **>(&blas->member)));
#include "runtime/device/cuda/BlasLt.def"
  return Status::ok();
}

Status load(Dnn *dnn) {
  void *library = nullptr;
  CLEAVE_TRY(openLibrary("CLEAVE_LIBCUDNN", {"libcudnn.so.9"},
                         "its convolutions need cuDNN 9, which is not on the library path; install it, name the file in "
                         "CLEAVE_LIBCUDNN, or compute them by Cleave's own kernels, which are slow, with "
                         "CLEAVE_CUDA_CONVOLUTION=own",
                         &library));
  CLEAVE_TRY(findEntry(library, "cudnnGetVersion", "cuDNN", reinterpret_cast<void **>(&dnn->version)));
  if (dnn->version() < kOldestDnn)
    return notFound("the installed cuDNN is too old: it has version number " + std::to_string(dnn->version()) +
                    "; Cleave needs 90000 (9.0) or later; CLEAVE_LIBCUDNN names another file, and "
                    "CLEAVE_CUDA_CONVOLUTION=own computes convolutions without it, slowly");
  CLEAVE_TRY(findEntry(library, "cudnnGetErrorString", "cuDNN", reinterpret_cast<void **>(&dnn->errorText)));
  CLEAVE_TRY(findEntry(library, "cudnnGetLastErrorString", "cuDNN", reinterpret_cast<void **>(&dnn->lastError)));
#define CLEAVE_DNN_ENTRY(member, symbol, parameters)                                                                   \
  CLEAVE_TRY(findEntry(library, #symbol, "cuDNN", reinterpret_cast<void **>(&dnn->member)));
#include "runtime/device/cuda/Dnn.def"
  return Status::ok();
}

Status load(Nccl *nccl) {
  void *library = nullptr;
  CLEAVE_TRY(openLibrary("CLEAVE_LIBNCCL", {"libnccl.so.2"},
                         "its ranks have a GPU each and talk through NCCL, which is not on the library path; install "
                         "it, name the file in CLEAVE_LIBNCCL, or let them talk through the host's memory, which is "
                         "slow, with CLEAVE_CUDA_COMM=host",
                         &library));
  int version = 0;
  CLEAVE_TRY(findEntry(library, "ncclGetVersion", "NCCL", reinterpret_cast<void **>(&nccl->version)));
  if (nccl->version(&version) != 0 || version < kOldestNccl)
    return notFound("the installed NCCL is too old: it has version number " + std::to_string(version) +
                    "; Cleave needs 21800 (2.18) or later");
  CLEAVE_TRY(findEntry(library, "ncclGetErrorString", "NCCL", reinterpret_cast<void **>(&nccl->errorText)));
  CLEAVE_TRY(findEntry(library, "ncclGetLastError", "NCCL", reinterpret_cast<void **>(&nccl->lastError)));
#define CLEAVE_NCCL_ENTRY(member, symbol, parameters)                                                                  \
  CLEAVE_TRY(findEntry(library, #symbol, "NCCL", reinterpret_cast<void **>(&nccl->member)));
#include "runtime/device/cuda/Nccl.def"
  return Status::ok();
}

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
Status openDnn(const Dnn **library) { return openOnce(openedDnn, library); }
Status openNccl(const Nccl **library) { return openOnce(openedNccl, library); }

// Adds the library's text for the error if the library is open. It need not be: the caller may have made the table that
// returned the error.
Status check(Result result, const char *what) {
  if (result == 0)
    return Status::ok();
  const Driver &driver = openedDriver.table;
  const char *name = nullptr, *text = nullptr;
  if (driver.errorName && driver.errorText) {
    driver.errorName(result, &name);
    driver.errorText(result, &text);
  }
  std::string message = std::string("CUDA: ") + what + " failed with error " + std::to_string(result) +
                        (name ? std::string(" (") + name + ")" : "") + (text ? std::string(": ") + text : "");
  if (result == kErrorOutOfMemory)
    return {Code::OutOfMemory, message};
  if (result >= kFirstExecutionError && result < kEndOfExecutionErrors) // of work that was enqueued earlier
    message += "; a run with --trace FILE waits for each instruction, and its message names the one that fails";
  return internal(message);
}

Status checkBlas(Result result, const char *what) {
  if (result == 0)
    return Status::ok();
  const char *text = openedBlas.table.statusText ? openedBlas.table.statusText(result) : nullptr;
  return internal(std::string("cuBLASLt: ") + what + " failed with status " + std::to_string(result) +
                  (text ? std::string(" (") + text + ")" : ""));
}

Status checkDnn(Result result, const char *what) {
  if (result == 0)
    return Status::ok();
  const Dnn &dnn = openedDnn.table;
  const char *text = dnn.errorText ? dnn.errorText(result) : nullptr;
  char last[512] = "";
  if (dnn.lastError)
    dnn.lastError(last, sizeof last);
  return internal(std::string("cuDNN: ") + what + " failed with status " + std::to_string(result) +
                  (text ? std::string(" (") + text + ")" : "") + (*last ? std::string(": ") + last : ""));
}

Status checkNccl(Result result, const char *what) {
  if (result == 0)
    return Status::ok();
  const Nccl &nccl = openedNccl.table;
  const char *text = nccl.errorText ? nccl.errorText(result) : nullptr;
  const char *last = nccl.lastError ? nccl.lastError(nullptr) : nullptr;
  return internal(std::string("NCCL: ") + what + " failed with result " + std::to_string(result) +
                  (text ? std::string(": ") + text : "") + (last && *last ? std::string("; ") + last : ""));
}

} // namespace cleave::rt::cuda
