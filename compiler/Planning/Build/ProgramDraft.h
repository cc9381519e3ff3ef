// A draft (Draft.h) with what only the code that makes and writes it knows: the fields of instructions, the ports, and
// the groups that shares belong to.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_PROGRAMDRAFT_H
#define CLEAVE_COMPILER_PLANNING_BUILD_PROGRAMDRAFT_H

#include "compiler/Planning/Build/AllocationTable.h"
#include "compiler/Planning/Draft/Prefetch.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"

#include <map>
#include <string>

namespace cleave::plan {

// An instruction without its buffers, stream and event. DraftInstruction::payload is its index in
// ProgramDraft::payloads.
struct InstructionPayload {
  std::string mnemonic;
  mlir::NamedAttrList fields;
  std::string note;
  mlir::DictionaryAttr reason = {}; // of what ranks exchange; null: not known
};

struct PortDraft {
  bool isInput;
  std::string name;
  mlir::Type type;
  uint64_t offset;
  int64_t batchDim;
  mlir::ArrayAttr splitAxes; // null: not split
  bool isAbsent = false;     // only other kinds of ranks have this port
};

struct ProgramDraft {
  std::string name;
  bool entry = false;
  bool isTransfer = false; // a single send or receive, which only events of the plan order
  std::vector<PortDraft> ports;
  AllocationTable allocations;
  std::vector<DraftInstruction> instructions;
  std::vector<InstructionPayload> payloads;
  std::vector<Gather> gathers;
  std::vector<mlir::FlatSymbolRefAttr> groups; // index: Share::group - 1
  std::map<std::string, uint64_t> peaks;       // kind -> transient bytes
  unsigned events = 0;
};

} // namespace cleave::plan

#endif
