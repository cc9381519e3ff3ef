// A plan with every instruction bound: for each program and each thread of the rank, the actions to run in order.
//
// A call is not a barrier. Each thread walks its own list of a program. At a call in the list, it walks its own list of
// the callee. So only a stream's own instructions can hold it up. Threads meet only in events.
//
// A wait for a shared event is for the last record before it in issue order. No thread sees the whole issue order,
// because each runs only the actions of its own streams. So the lists of each thread also contain the records of other
// threads, which the thread only counts:
//
//   program  record e on compute; wait e on reduce; record e on compute     e's count at the wait: 1, on both threads
//
//   compute  record e (1)   record e (2)
//
//   reduce   [count e]      wait e for 1        [count e]
#ifndef CLEAVE_RUNTIME_DEVICE_BOUNDPLAN_H
#define CLEAVE_RUNTIME_DEVICE_BOUNDPLAN_H

#include "runtime/base/Trace.h"
#include "runtime/device/Device.h"
#include "runtime/plan/InstructionView.h"

#include <string>
#include <vector>

namespace cleave::rt {

// An event that programs share, with all of its frames. Each frame has a place.
struct BoundEvent {
  fb::Counter counter = fb::Counter::micro_batch;
  uint32_t frames = 1;
  size_t firstPlace = 0; // index of its first place among the places of all events
};

struct BoundInstruction {
  ActionPtr action; // null for a call, and for an instruction that has `ofPlace`
  int call = -1;    // index into BoundProgram::calls
  int event = -1;   // index into BoundPlan::events, of a record of a shared event or a wait for it
  bool isRecord = false;
  int64_t frame = 0;              // of the event
  std::vector<ActionPtr> ofPlace; // one for each place of the event; empty for a record that is only counted
  unsigned track = 0;             // of the trace
  const char *name = nullptr;     // for the trace: kernel or mnemonic
  uint64_t bytes = 0;             // for the trace: the bytes that a collective works on
  uint32_t index = 0;             // in the plan's list, for messages
};

struct BoundCall {
  unsigned callee = 0;
  int64_t times = 0, firstFrame = 0, stride = 1; // `stride` in frames
  fb::Counter counter = fb::Counter::micro_batch;
};

struct BoundProgram {
  std::vector<BoundInstruction> instructions[kThreads];
  std::vector<BoundCall> calls;
  bool uses[kThreads] = {};     // true if the thread has actions here or in callees
  const char *body = nullptr;   // the program's name, for the trace; null for an entry program
  uint32_t runs[kThreads] = {}; // each thread counts for itself; all counts are equal
};

struct BoundPlan {
  std::vector<Address> regions;
  std::vector<Group> groups;
  std::vector<BoundEvent> events;
  size_t eventPlaces = 0;
  std::vector<BoundProgram> programs;
};

struct BindRequest {
  const fb::Plan &plan;
  const cleave_kernel_fn *kernels; // may be null if the plan has no generated kernel
  Communicator &comm;
  Device &device;
  TraceSink *trace; // may be null
  int rank;
  const cleave_device_kernel *deviceKernels = nullptr; // the kernels of a device image
};

GroupShape shapeOf(const fb::Group &group);

Status bindPlan(const BindRequest &request, BoundPlan *result);

// "program 'train_step', instruction 7 (launch @matmul.3 ...)"
std::string describe(const fb::Plan &plan, unsigned program, unsigned instruction);

} // namespace cleave::rt

#endif
