// A plan with every instruction resolved: for each program and each thread of the rank, the actions to run in order.
//
// Calls are resolved here too. A callee's streams start and end joined to the stream of the call; between threads this
// takes events, which are made only for threads that have anything to do in the callee.
#ifndef CLEAVE_RUNTIME_DEVICE_BOUNDPLAN_H
#define CLEAVE_RUNTIME_DEVICE_BOUNDPLAN_H

#include "runtime/base/Trace.h"
#include "runtime/device/Device.h"
#include "runtime/plan/InstructionView.h"

#include <string>
#include <vector>

namespace cleave::rt {

// Of a rank: the caller of Rank::run, and progress threads, each of which serves a stream that communicates (or what
// streams there are beyond).
constexpr unsigned kThreads = kChannels;

struct BoundInstruction {
  ActionPtr action;           // null for a call
  int call = -1;              // index into BoundProgram::calls
  unsigned track = 0;         // of the trace
  const char *name = nullptr; // for the trace: kernel or mnemonic
  uint64_t bytes = 0;         // for the trace: what a collective works on
  uint32_t index = 0;         // in the plan's list, for messages
};

struct BoundCall {
  // How the calling thread starts one that takes part in the callee, and waits for its end.
  struct Join {
    ActionPtr startRecord, startWait, endRecord, endWait; // null for a thread that has nothing to do
  };
  unsigned callee = 0;
  unsigned times = 0, firstFrame = 0;
  unsigned thread = 0; // of the stream of the call
  Join joins[kThreads];
  uint32_t runs[kThreads] = {}; // how often each thread has run the callee here
};

struct BoundProgram {
  std::vector<BoundInstruction> instructions[kThreads];
  std::vector<BoundCall> calls;
  bool uses[kThreads] = {};     // whether the thread has anything to do, callees included
  uint32_t runs[kThreads] = {}; // counted by each thread for itself; all count the same
};

struct BoundPlan {
  std::vector<Address> regions;
  std::vector<Group> groups;
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

Status bindPlan(const BindRequest &request, BoundPlan *result);

// "program 'train_step', instruction 7 (launch @matmul.3 ...)"
std::string describe(const fb::Plan &plan, unsigned program, unsigned instruction);

} // namespace cleave::rt

#endif
