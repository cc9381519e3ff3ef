#include "test/compiler/Planning/mutation/Collectives.h"

#include "runtime/plan/KernelDefs.h"

namespace cleave::mutation {

using rt::InstructionView;
using rt::Opcode;

std::vector<CollectivePart> partsOf(const InstructionView &view, unsigned member, unsigned members) {
  uint64_t bytes = view.buffer(0).bytes(), chunk = bytes / members;
  if (members == 1)
    return {};
  switch (view.opcode()) {
  case Opcode::AllGather:
    return {{0, member * chunk, chunk, false},
            {0, 0, member * chunk, true},
            {0, (member + 1) * chunk, bytes - (member + 1) * chunk, true}};
  case Opcode::Broadcast:
    return {{0, 0, bytes, member != view["root"]}};
  default:
    return {{0, 0, bytes, true}, {1, 0, view.buffer(1).bytes(), true}};
  }
}

std::string mismatch(const InstructionView &a, const InstructionView &b) {
  if (a.opcode() != b.opcode())
    return "one member runs " + std::string(a.info().mnemonic) + ", another " + std::string(b.info().mnemonic);
  if (a.buffer(0).bytes() != b.buffer(0).bytes())
    return "members have different numbers of bytes";
  if (rt::fieldIndex(a.opcode(), "reduction") >= 0)
    for (const char *field : {"dtype", "reduction"})
      if (a[field] != b[field])
        return "members differ in " + std::string(field);
  for (const char *field : {"algorithm", "root"})
    if (a[field] != b[field])
      return "members differ in " + std::string(field);
  return "";
}

// Chunk c, summed in the ring's order c+1, c+2, ..., c.
static Bytes reducedChunk(const InstructionView &view, const std::vector<Bytes> &data, size_t chunk) {
  uint64_t bytes = data[0].size() / data.size();
  std::vector<Bytes> operands;
  for (size_t i = 1; i <= data.size(); ++i)
    operands.push_back(data[(chunk + i) % data.size()].slice(chunk * bytes, bytes));
  Id operation =
      Hasher("reduce").add(static_cast<uint64_t>(view["reduction"])).add(static_cast<uint64_t>(view["dtype"])).id();
  return elementwise(operation, operands);
}

static Bytes reduced(const InstructionView &view, const std::vector<Bytes> &data) {
  Bytes all;
  for (size_t chunk = 0; chunk < data.size(); ++chunk)
    all.append(reducedChunk(view, data, chunk));
  return all;
}

// Only chunk `member` at its position. The other bytes are undefined.
static Bytes alone(const Bytes &chunk, size_t member, size_t members) {
  Bytes all = undefined(member * chunk.size());
  all.append(chunk);
  all.append(undefined((members - 1 - member) * chunk.size()));
  return all;
}

std::vector<Bytes> collectiveResults(const InstructionView &view, const std::vector<Bytes> &data) {
  size_t members = data.size();
  uint64_t bytes = data[0].size(), chunk = bytes / members;
  if (members == 1)
    return data;
  std::vector<Bytes> results;
  auto root = static_cast<size_t>(view["root"]);
  switch (view.opcode()) {
  case Opcode::AllReduce:
    return std::vector<Bytes>(members, reduced(view, data));
  case Opcode::ReduceScatter:
    for (size_t i = 0; i < members; ++i)
      results.push_back(alone(reducedChunk(view, data, i), i, members));
    return results;
  case Opcode::AllGather: {
    Bytes all;
    for (size_t i = 0; i < members; ++i)
      all.append(data[i].slice(i * chunk, chunk));
    return std::vector<Bytes>(members, all);
  }
  case Opcode::Reduce:
    results.assign(members, undefined(bytes));
    results[root] = reduced(view, data);
    return results;
  case Opcode::Broadcast:
    return std::vector<Bytes>(members, data[root]);
  default:
    return data;
  }
}

} // namespace cleave::mutation
