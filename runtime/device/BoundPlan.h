// A plan with every instruction resolved: for each program and each thread of the rank, the actions to run in order.
//
// A call is not a barrier. Each thread walks a program's own list, and where the list has a call it walks the callee's,
// so that a stream is as far as its own instructions let it. Threads meet in events alone.
//
// Which record of a shared event a wait is for is decided in issue order, which no thread sees whole: each walks the
// actions of its own streams. So a thread counts the records of the others as well, where they stand in its lists:
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

// An event that programs share, in all of its frames. It has a place for each.
struct BoundEvent {
  fb::Counter counter = fb::Counter::micro_batch;
  uint32_t frames = 1;
  size_t firstPlace = 0; // among those of all events
};

struct BoundInstruction {
  ActionPtr action; // null for a call, and for what has `ofPlace`
  int call = -1;    // index into BoundProgram::calls
  int event = -1;   // index into BoundPlan::events, of a record or a wait of a shared event
  bool isRecord = false;
  int64_t frame = 0;              // of the event
  std::vector<ActionPtr> ofPlace; // of the event; empty for a record of another thread, which is counted alone
  unsigned track = 0;             // of the trace
  const char *name = nullptr;     // for the trace: kernel or mnemonic
  uint64_t bytes = 0;             // for the trace: what a collective works on
  uint32_t index = 0;             // in the plan's list, for messages
};

struct BoundCall {
  unsigned callee = 0;
  int64_t times = 0, firstFrame = 0, stride = 1; // of frames
  fb::Counter counter = fb::Counter::micro_batch;
};

struct BoundProgram {
  std::vector<BoundInstruction> instructions[kThreads];
  std::vector<BoundCall> calls;
  bool uses[kThreads] = {};     // whether the thread has anything to do, callees included
  const char *body = nullptr;   // its name where it is called, for the trace; null: an entry program
  uint32_t runs[kThreads] = {}; // counted by each thread for itself; all count the same
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
  const cleave_kernel_fn *kernels; // may be null when the plan has no generated kernel
  Communicator &comm;
  Device &device;
  TraceSink *trace; // may be null
  int rank;
  const cleave_device_kernel *deviceKernels = nullptr; // of a device image
};

GroupShape shapeOf(const fb::Group &group);

Status bindPlan(const BindRequest &request, BoundPlan *result);

// "program 'train_step', instruction 7 (launch @matmul.3 ...)"
std::string describe(const fb::Plan &plan, unsigned program, unsigned instruction);

} // namespace cleave::rt

#endif
