#include "test/cuda/emulated/driver/Operation.h"

namespace cleave::emulated {

const Allocation *Recorder::find(uint64_t address, uint64_t bytes) {
  uint64_t now = machine.memory.generation();
  if (now != generation) {
    recent = {};
    generation = now;
  }
  for (const std::shared_ptr<Allocation> &a : recent)
    if (a && a->contains(address, bytes))
      return a.get();
  std::shared_ptr<Allocation> found = machine.memory.find(address);
  if (!found || !found->contains(address, bytes))
    return nullptr;
  std::shared_ptr<Allocation> &slot = recent[nextRecent++ % recent.size()];
  slot = std::move(found);
  return slot.get();
}

uint64_t Recorder::access(uint64_t address, uint32_t bytes, Access kind, uint64_t block, Fault &fault) {
  const Allocation *a = find(address, bytes);
  bool isWrite = kind != Access::Read;
  if (!a) {
    fault = {code::IllegalAddress, std::string(isWrite ? "writes " : "reads ") +
                                       machine.memory.describe(address, bytes) + ": outside of every allocation"};
    return 0;
  }
  if (kind != Access::Write && machine.options.uninitialized && a->firstUnwritten(address, bytes) != address + bytes) {
    fault = {code::LaunchFailed, "reads " + machine.memory.describe(address, bytes) + ", which nothing wrote"};
    return 0;
  }
  if (isWrite)
    a->markWritten(address, bytes);
  AccessLog::Kind noted = kind == Access::Read    ? AccessLog::Kind::Read
                          : kind == Access::Write ? AccessLog::Kind::Write
                                                  : AccessLog::Kind::Atomic;
  bool blocks = checkBlocks && machine.options.blocks;
  if (!log.note(address, bytes, noted, blocks ? block : AccessLog::kNoBlock)) {
    fault = {code::LaunchFailed, std::string(isWrite ? "writes " : "reads ") + machine.memory.describe(address, bytes) +
                                     ", which another block of the same launch " + (isWrite ? "touches" : "writes")};
    return 0;
  }
  return a->kind == Allocation::Kind::Pinned ? address : address + AddressSpace::kDeviceOffset;
}

const void *Recorder::read(uint64_t address, uint64_t bytes, bool values) {
  const Allocation *a = find(address, bytes);
  if (!a) {
    machine.report(code::IllegalAddress,
                   name + " reads " + machine.memory.describe(address, bytes) + ": outside of every allocation");
    return nullptr;
  }
  if (values && machine.options.uninitialized) {
    uint64_t missing = a->firstUnwritten(address, bytes);
    if (missing != address + bytes) {
      machine.report(code::LaunchFailed,
                     name + " reads " + machine.memory.describe(missing, 1) + ", which nothing wrote");
      return nullptr;
    }
  }
  log.note(address, bytes, AccessLog::Kind::Read);
  return reinterpret_cast<const void *>(a->host() + (address - a->address));
}

void *Recorder::write(uint64_t address, uint64_t bytes) {
  const Allocation *a = find(address, bytes);
  if (!a) {
    machine.report(code::IllegalAddress,
                   name + " writes " + machine.memory.describe(address, bytes) + ": outside of every allocation");
    return nullptr;
  }
  a->markWritten(address, bytes);
  log.note(address, bytes, AccessLog::Kind::Write);
  return reinterpret_cast<void *>(a->host() + (address - a->address));
}

void Recorder::noteHost(uint64_t address, uint64_t bytes, bool isWrite) {
  log.note(address, bytes, isWrite ? AccessLog::Kind::Write : AccessLog::Kind::Read);
}

void perform(const Operation &operation, const Stamp &stamp, uint64_t salt) {
  Machine &machine = Machine::get();
  if (machine.stickyError())
    return;
  Recorder recorder(operation.name, machine);
  recorder.checkBlocks = operation.checkBlocks;
  recorder.seed = scramble(salt ^ machine.options.seed);
  operation.run(recorder);
  if (!machine.options.races || machine.stickyError())
    return;
  std::string race = machine.races.add(operation.name, stamp, recorder.accesses());
  if (!race.empty())
    machine.report(code::LaunchFailed, race);
}

} // namespace cleave::emulated
