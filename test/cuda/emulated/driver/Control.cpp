#include "test/cuda/emulated/driver/Control.h"
#include "test/cuda/emulated/driver/Api.h"

using namespace cleave::emulated;

int cleave_emulated_finding_count() { return int(Machine::get().findings().size()); }

const char *cleave_emulated_finding(int index) {
  static thread_local std::string text;
  std::vector<std::string> all = Machine::get().findings();
  if (index < 0 || size_t(index) >= all.size())
    return nullptr;
  text = all[size_t(index)];
  return text.c_str();
}

// After a finding, calls fail at once, and so does cuCtxSynchronize. So operations may still run that could report
// another finding, and the host has not learned that they have ended.
void cleave_emulated_clear() {
  Streams::get().finishAll();
  Machine::get().clearFindings();
}
void cleave_emulated_seed(uint64_t seed) { Machine::get().options.seed = seed; }
void cleave_emulated_report_leaks() { Machine::get().reportLeaks("now"); }
void cleave_emulated_report(int code, const char *message) { Machine::get().report(code, message); }
int cleave_emulated_has_context() { return needContext() == code::Success; }

int cleave_emulated_enqueue(void *stream, const char *name, void (*work)(void *, const cleave_emulated_memory *),
                            void *data, void (*drop)(void *)) {
  std::shared_ptr<void> owned(data, drop);
  if (int error = needContext())
    return error;
  std::shared_ptr<Stream> s = Streams::get().find(stream);
  if (!s)
    return code::InvalidHandle;
  Operation operation{name, [work, owned](Recorder &r) {
                        cleave_emulated_memory memory;
                        memory.self = &r;
                        memory.read = [](void *self, uint64_t address, uint64_t bytes) {
                          return static_cast<Recorder *>(self)->read(address, bytes, true);
                        };
                        memory.write = [](void *self, uint64_t address, uint64_t bytes) {
                          return static_cast<Recorder *>(self)->write(address, bytes);
                        };
                        memory.fail = [](void *self, int code, const char *message) {
                          Machine::get().report(code, static_cast<Recorder *>(self)->name + ": " + message);
                        };
                        work(owned.get(), &memory);
                      }};
  return s->enqueue(std::move(operation), NodeKind::Kernel);
}
