// Modules, functions, launches.
#include "test/cuda/emulated/block/Launch.h"
#include "test/cuda/emulated/driver/Api.h"
#include "test/cuda/emulated/translate/KernelModule.h"
#include "test/cuda/emulated/translate/Requirements.h"
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace cleave::emulated;

namespace {

struct LoadedModule;

struct Function {
  LoadedModule *module;
  const Kernel *kernel;
  uint32_t maxDynamicShared = kMaxSharedDefault;
};

struct LoadedModule {
  std::shared_ptr<KernelModule> code;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::mutex mutex;
};

// "8.3" is 83.
int versionNumber(const std::string &version) {
  size_t dot = version.find('.');
  return atoi(version.c_str()) * 10 + (dot == std::string::npos ? 0 : atoi(version.c_str() + dot + 1));
}

// The newest PTX that a driver of this CUDA version knows (CUDA 12.0 has 8.0, 13.0 has 9.0).
int newestPtx(int driver) { return (driver / 1000 - 4) * 10 + driver % 1000 / 10; }

int checkTarget(const ptx::Module &m, std::string &log) {
  const Options &o = Machine::get().options;
  if (versionNumber(m.version) > newestPtx(o.driverVersion)) {
    log = "PTX .version " + m.version + " is newer than the driver's";
    return code::UnsupportedPtxVersion;
  }
  int capability = o.capabilityMajor * 10 + o.capabilityMinor;
  Target target = parseTarget(m.target);
  if (!target.capability || target.capability > capability || (target.exact && target.capability != capability)) {
    log = ".target " + m.target + " does not run on a device of capability " + std::to_string(capability);
    return code::InvalidPtx;
  }
  log = newerThanTarget(m);
  if (!log.empty())
    return code::InvalidPtx;
  return code::Success;
}

// Writes `log` into the caller's buffer: option CU_JIT_ERROR_LOG_BUFFER (5), of the size in option 6.
void writeLog(unsigned count, const int *options, void **values, const std::string &log) {
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == 5)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == 6)
      size = size_t(reinterpret_cast<uintptr_t>(values[i]));
  }
  if (buffer && size)
    snprintf(buffer, size, "%s", log.c_str());
}

uint64_t allocateVariable(uint64_t bytes, const std::vector<uint8_t> &initial) {
  Machine &m = Machine::get();
  std::shared_ptr<Allocation> a =
      m.memory.allocate(Allocation::Kind::Variable, std::max<uint64_t>(bytes, 1), currentDevice());
  if (!a)
    return 0;
  auto *host = reinterpret_cast<uint8_t *>(a->host());
  memset(host, 0, bytes);
  std::copy(initial.begin(), initial.end(), host);
  a->markWritten(a->address, bytes);
  m.races.forget(a->address, bytes);
  return a->address;
}

// Several ranks load the same text, so it is compiled once. A text with variables is compiled for each load, because
// the variables' addresses are part of the code.
std::shared_ptr<KernelModule> compiled(const char *image, std::string &log) {
  static std::mutex mutex;
  static auto *known = new std::map<std::string, std::weak_ptr<KernelModule>>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known->find(image);
  if (found != known->end())
    if (std::shared_ptr<KernelModule> code = found->second.lock())
      return code;
  std::shared_ptr<KernelModule> code = KernelModule::load(image, allocateVariable, log);
  if (code && code->variableAddresses().empty())
    (*known)[image] = code;
  return code;
}

// Checks a cubin's header as the driver does, and then refuses it anyway: the emulation cannot execute machine code.
int refuseCubin(const char *image, std::string &log) {
  constexpr unsigned kCudaMachine = 190, kLaterAbi = 8; // of CUDA 13, which has the architecture in other bits
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kCudaMachine) {
    log = "the image is an ELF file of another machine";
    return code::InvalidImage;
  }
  int chip = int(header.e_ident[EI_ABIVERSION] >= kLaterAbi ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff);
  const Options &o = Machine::get().options;
  bool fits = chip / 10 == o.capabilityMajor && chip % 10 <= o.capabilityMinor;
  log = "the image is machine code for sm_" + std::to_string(chip) +
        (fits ? "; the emulated device executes PTX" : ", which this device does not run");
  return code::NoBinaryForGpu;
}

int load(Handle *module, const char *image, std::string &log) {
  static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
  if (!memcmp(image, ELFMAG, SELFMAG))
    return refuseCubin(image, log);
  if (!memcmp(image, fatbin, 4)) {
    log = "the image is a fat binary; the emulated device executes PTX";
    return code::NoBinaryForGpu;
  }
  // For the driver, text that does not begin with a PTX directive is no image at all.
  if (!strstr(image, ".version")) {
    log = "the image is neither machine code nor PTX";
    return code::InvalidImage;
  }
  auto loaded = std::make_unique<LoadedModule>();
  loaded->code = compiled(image, log);
  if (!loaded->code) {
    fprintf(stderr, "emulated CUDA device: a module was refused: %s\n", log.c_str());
    return code::InvalidPtx;
  }
  if (int error = checkTarget(loaded->code->source(), log))
    return error;
  *module = loaded.get();
  Machine::get().addHandle(loaded.release(), "module");
  return code::Success;
}

// True if the process may read these bytes. An argument list that is too short ends in garbage.
bool isReadable(const void *p, size_t bytes) {
  std::vector<char> copy(bytes);
  iovec to{copy.data(), bytes}, from{const_cast<void *>(p), bytes};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == ssize_t(bytes);
}

struct Arguments {
  std::vector<uint64_t> storage; // 8-byte aligned; each argument starts at a multiple of 16
  std::vector<void *> pointers;
};

int copyArguments(const Kernel &k, void **given, void **extra, Arguments &a) {
  if (extra) // a packed buffer, which Cleave does not use
    return code::NotSupported;
  if (!k.parameterBytes.empty() && !given)
    return code::InvalidValue;
  size_t total = 0;
  for (uint32_t bytes : k.parameterBytes)
    total += (bytes + 15) / 16 * 16;
  a.storage.resize(total / 8 + 2);
  char *at = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(a.storage.data()) + 15) & ~uintptr_t(15));
  for (size_t i = 0; i < k.parameterBytes.size(); i++) {
    uint32_t bytes = k.parameterBytes[i];
    if (!isReadable(given + i, sizeof(void *)) || !isReadable(given[i], bytes)) {
      Machine::get().report(0, k.name + " takes " + std::to_string(k.parameterBytes.size()) +
                                   " arguments, but argument " + std::to_string(i) + " is not given");
      return code::InvalidValue;
    }
    memcpy(at, given[i], bytes);
    a.pointers.push_back(at);
    at += (bytes + 15) / 16 * 16;
  }
  return code::Success;
}

int checkShape(const Function &f, const Extent &grid, const Extent &block, uint32_t shared) {
  const Kernel &k = *f.kernel;
  if (!grid.count() || !block.count() || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
    return code::InvalidValue;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > kMaxThreads)
    return code::InvalidValue;
  if (block.count() > k.maxThreads)
    return code::InvalidValue;
  uint32_t size[3] = {block.x, block.y, block.z};
  for (int d = 0; d < 3; d++)
    if (k.requiredThreads[d] && k.requiredThreads[d] != size[d])
      return code::InvalidValue;
  return shared + k.sharedBytes > std::max(f.maxDynamicShared + k.sharedBytes, kMaxSharedDefault) ||
                 shared + k.sharedBytes > (f.maxDynamicShared > kMaxSharedDefault ? kMaxShared : kMaxSharedDefault)
             ? code::InvalidValue
             : code::Success;
}

} // namespace

CLEAVE_EMULATED_API int cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options,
                                           void **values) {
  if (int error = needContext())
    return error;
  if (!module || !image)
    return code::InvalidValue;
  std::string log;
  int result = load(module, static_cast<const char *>(image), log);
  writeLog(count, options, values, log);
  return result;
}

CLEAVE_EMULATED_API int cuModuleLoadData(Handle *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CLEAVE_EMULATED_API int cuModuleUnload(Handle module) {
  if (int error = needContext())
    return error;
  if (!Machine::get().removeHandle(module, "module"))
    return code::InvalidHandle;
  auto *loaded = static_cast<LoadedModule *>(module);
  Streams::get().synchronizeAll(currentDevice());
  for (auto &[name, f] : loaded->functions)
    Machine::get().removeHandle(f.get(), "function");
  for (uint64_t address : loaded->code->variableAddresses())
    Machine::get().memory.release(address, Allocation::Kind::Variable);
  delete loaded;
  return code::Success;
}

CLEAVE_EMULATED_API int cuModuleGetFunction(Handle *function, Handle module, const char *name) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(module, "module"))
    return error;
  auto *loaded = static_cast<LoadedModule *>(module);
  std::lock_guard<std::mutex> lock(loaded->mutex);
  std::unique_ptr<Function> &f = loaded->functions[name];
  if (!f) {
    std::string error;
    const Kernel *kernel = loaded->code->find(name, error);
    if (!kernel) {
      loaded->functions.erase(name);
      if (error.empty())
        return code::NotFound;
      fprintf(stderr, "emulated CUDA device: %s: %s\n", name, error.c_str());
      return code::InvalidPtx;
    }
    f.reset(new Function{loaded, kernel});
    Machine::get().addHandle(f.get(), "function");
  } else if (Machine::get().options.lookups) {
    Machine::get().report(0, std::string(name) + " is looked up a second time");
  }
  *function = f.get();
  return code::Success;
}

CLEAVE_EMULATED_API int cuModuleGetGlobal_v2(DevicePointer *address, size_t *bytes, Handle module, const char *name) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(module, "module"))
    return error;
  uint64_t at = 0, size = 0;
  if (!static_cast<LoadedModule *>(module)->code->variable(name, at, size))
    return code::NotFound;
  if (address)
    *address = at;
  if (bytes)
    *bytes = size;
  return code::Success;
}

// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is 8; the carve-out (9) is a hint.
CLEAVE_EMULATED_API int cuFuncSetAttribute(Handle function, int attribute, int value) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(function, "function"))
    return error;
  auto *f = static_cast<Function *>(function);
  if (attribute == 9)
    return code::Success;
  if (attribute != 8 || value < 0 || uint32_t(value) + f->kernel->sharedBytes > kMaxShared)
    return code::InvalidValue;
  f->maxDynamicShared = uint32_t(value);
  return code::Success;
}

CLEAVE_EMULATED_API int cuFuncGetAttribute(int *value, int attribute, Handle function) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(function, "function"))
    return error;
  auto *f = static_cast<Function *>(function);
  switch (attribute) {
  case 0:
    *value = int(f->kernel->maxThreads);
    return code::Success;
  case 1:
    *value = int(f->kernel->sharedBytes);
    return code::Success;
  case 8:
    *value = int(f->maxDynamicShared);
    return code::Success;
  default:
    return code::NotSupported; // registers, local memory, versions: only a real compiler and device know these
  }
}

CLEAVE_EMULATED_API int cuFuncGetParamInfo(Handle function, size_t index, size_t *offset, size_t *bytes) {
  if (int error = needHandle(function, "function"))
    return error;
  const Kernel &k = *static_cast<Function *>(function)->kernel;
  if (index >= k.parameterBytes.size())
    return code::InvalidValue;
  size_t at = 0;
  for (size_t i = 0; i <= index; i++) {
    size_t align = k.parameterBytes[i] % 8 == 0 ? 8 : k.parameterBytes[i] % 4 == 0 ? 4 : 1;
    at = (at + align - 1) / align * align;
    if (i < index)
      at += k.parameterBytes[i];
  }
  if (offset)
    *offset = at;
  if (bytes)
    *bytes = k.parameterBytes[index];
  return code::Success;
}

// CLEAVE_EMULATED_FAIL_LAUNCH=N: each thread's Nth launch is refused.
static bool isToFail() {
  static const char *text = getenv("CLEAVE_EMULATED_FAIL_LAUNCH");
  static thread_local uint64_t launches = 0;
  return text && ++launches == strtoull(text, nullptr, 10);
}

CLEAVE_EMULATED_API int cuLaunchKernel(Handle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                       unsigned blockY, unsigned blockZ, unsigned shared, Handle stream,
                                       void **arguments, void **extra) {
  if (int error = needContext())
    return error;
  if (int error = needHandle(function, "function"))
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  if (isToFail())
    return code::LaunchOutOfResources;
  auto *f = static_cast<Function *>(function);
  Extent grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
  if (int error = checkShape(*f, grid, block, shared))
    return error;
  auto values = std::make_shared<Arguments>();
  if (int error = copyArguments(*f->kernel, arguments, extra, *values))
    return error;
  const Kernel *kernel = f->kernel;
  Operation operation{"kernel " + kernel->name, [=](Recorder &r) {
                        Launch l;
                        l.name = kernel->name;
                        l.entry = kernel->entry;
                        l.arguments = values->pointers.data();
                        l.argumentsBegin = reinterpret_cast<uint64_t>(values->storage.data());
                        l.argumentsEnd = l.argumentsBegin + values->storage.size() * 8;
                        l.grid = grid;
                        l.block = block;
                        l.sharedStatic = kernel->sharedBytes;
                        l.sharedDynamic = shared;
                        l.seed = r.seed;
                        l.memory = &r;
                        l.checkUninitializedShared = Machine::get().options.sharedUninitialized;
                        Fault fault;
                        if (!runLaunch(l, fault))
                          Machine::get().report(fault.code, fault.message);
                      }};
  operation.checkBlocks = !kernel->fences && grid.count() > 1;
  return s->enqueue(std::move(operation), NodeKind::Kernel);
}
