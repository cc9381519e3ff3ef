#include "runtime/session/GlobalTensor.h"

#include "runtime/base/NearestName.h"
#include "runtime/comm/Communicator.h"
#include "runtime/session/ProgramBatch.h"

#include <algorithm>
#include <cstring>

namespace cleave::rt {
namespace {

const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *portsOf(const fb::Program &program, bool output) {
  return output ? program.outputs() : program.inputs();
}

} // namespace

void GlobalTensor::describe(Session &session, const fb::Program &program, const fb::Port &port) {
  port_ = &port;
  frames_ = inputFrames(session.plan(), program);
  if (port.shape())
    shape_.assign(port.shape()->begin(), port.shape()->end());
  runs_ = 1;
  parts_ = port.batch_dim() < 0 ? 1 : frames_ * session.dataRanks();
  for (int dim = 0; dim < port.batch_dim(); ++dim)
    runs_ *= static_cast<size_t>(shape_[dim]);
  if (port.batch_dim() >= 0)
    shape_[port.batch_dim()] *= int64_t{parts_};
  uint64_t elements = 0;
  countElements(shape_, &elements);
  bytes_ = elements * elementSize(elementType(port.dtype()));
}

Status GlobalTensor::find(Session &session, const char *programName, const char *name, bool output,
                          GlobalTensor *result) {
  const fb::Program *program = nullptr;
  CLEAVE_TRY(session.entry(programName, &program));
  std::vector<std::string> names;
  for (size_t i = 0; i < lengthOf(portsOf(*program, output)); ++i) {
    const fb::Port &port = *portsOf(*program, output)->Get(i);
    names.push_back(port.name()->str());
    if (names.back() == name) {
      result->describe(session, *program, port);
      return Status::ok();
    }
  }
  return notFound(std::string(programName) + " has no " + (output ? "output '" : "input '") + name + "'; it has " +
                  (names.empty() ? "none" : joinNames(names)));
}

Status GlobalTensor::at(Session &session, const char *programName, size_t index, bool output, GlobalTensor *result) {
  const fb::Program *program = nullptr;
  CLEAVE_TRY(session.entry(programName, &program));
  size_t count = lengthOf(portsOf(*program, output));
  if (index >= count)
    return notFound(std::string(programName) + " has " + std::to_string(count) + (output ? " outputs" : " inputs"));
  result->describe(session, *program, *portsOf(*program, output)->Get(index));
  return Status::ok();
}

template <typename Visit> void GlobalTensor::visitRuns(Session &session, unsigned local, Visit visit) const {
  size_t run = bytes_ / std::max<size_t>(1, runs_ * parts_);
  for (unsigned frame = 0; frame < frames_; ++frame) {
    size_t part = parts_ == 1 ? 0 : session.dataRank(local) * frames_ + frame;
    std::byte *own = session.rank(local).portBytes(*port_, frame).data;
    for (size_t i = 0; own && i < runs_; ++i) // null: only another kind of ranks has it
      visit(own + i * run, (i * parts_ + part) * run, run);
  }
}

void GlobalTensor::scatter(Session &session, const std::byte *data) const {
  for (unsigned local = 0; local < session.localRanks(); ++local)
    visitRuns(session, local,
              [&](std::byte *own, size_t offset, size_t size) { std::memcpy(own, data + offset, size); });
}

Status GlobalTensor::gather(Session &session, std::byte *data) const {
  bool isEverywhere = session.hasEverywhere(*port_);
  bool hasAll = !session.processes() || (isEverywhere && (parts_ == 1 || session.dataRanks() == 1));
  if (!hasAll)
    std::memset(data, 0, bytes_);
  for (unsigned local = 0; local < session.localRanks(); ++local)
    if (hasAll || session.answersFor(local, *port_))
      visitRuns(session, local,
                [&](std::byte *own, size_t offset, size_t size) { std::memcpy(data + offset, own, size); });
  if (hasAll)
    return Status::ok();
  CLEAVE_TRY(session.gather(data, bytes_));
  return session.processes()->broadcast(data, bytes_, 0);
}

} // namespace cleave::rt
