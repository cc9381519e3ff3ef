// Makes small plans by hand, for tests: FlatBuffers' object API, with the header filled in.
//
//   PlanBuilder builder({{"dp", 2}});
//   unsigned data = builder.region("data", fb::RegionKind::persistent, 1024);
//   auto &program = builder.program("train_step");
//   builder.add(program, Opcode::Fill, 0, {builder.buffer(data, 0, 16)}, {pattern, 4});
//   const fb::Plan *plan = builder.open();      // packs, and checks by openPlan()
#ifndef CLEAVE_TEST_RUNTIME_DEVICE_PLANBUILDER_H
#define CLEAVE_TEST_RUNTIME_DEVICE_PLANBUILDER_H

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/Opcode.h"
#include "runtime/plan/PlanReader.h"

#include <gtest/gtest.h>

namespace cleave::rt::test {

class PlanBuilder {
public:
  explicit PlanBuilder(const std::vector<std::pair<std::string, unsigned>> &mesh = {}) {
    plan.format = kPlanFormat;
    plan.instruction_set = instructionSetHash();
    plan.kernel_set = kernelSetHash();
    plan.target = "host:test";
    plan.threads = 4;
    plan.streams = {"compute", "reduce"};
    for (const auto &[name, size] : mesh) {
      plan.axes.push_back(std::make_unique<fb::AxisT>());
      plan.axes.back()->name = name;
      plan.axes.back()->size = size;
    }
  }

  unsigned region(const std::string &name, fb::RegionKind kind, uint64_t bytes, unsigned frames = 1) {
    plan.regions.push_back(std::make_unique<fb::RegionT>());
    auto &region = *plan.regions.back();
    region.name = name;
    region.kind = kind;
    region.bytes = bytes;
    region.frames = frames;
    return static_cast<unsigned>(plan.regions.size() - 1);
  }

  fb::StateT &state(const std::string &name, fb::DType dtype, uint64_t elements, unsigned region, uint64_t offset = 0) {
    plan.states.push_back(std::make_unique<fb::StateT>());
    auto &state = *plan.states.back();
    state.name = name;
    state.dtype = dtype;
    state.elements = elements;
    state.region = static_cast<uint16_t>(region);
    state.offset = offset;
    return state;
  }

  int64_t group(std::vector<uint32_t> axes) {
    plan.groups.push_back(std::make_unique<fb::GroupT>());
    plan.groups.back()->axes = std::move(axes);
    return static_cast<int64_t>(plan.groups.size() - 1);
  }

  int64_t kernel(fb::KernelKind kind, const std::string &name, std::vector<int64_t> params, uint64_t extent = 1) {
    plan.kernels.push_back(std::make_unique<fb::KernelT>());
    auto &kernel = *plan.kernels.back();
    kernel.kind = kind;
    kernel.name = name;
    kernel.params = std::move(params);
    kernel.extent = extent;
    return static_cast<int64_t>(plan.kernels.size() - 1);
  }

  // A generated kernel whose operands have the bytes and accesses of these buffers, and elements of one byte. `over`
  // has pairs of operands: the first is written over the second (see Plan.fbs).
  int64_t generated(const std::string &name, const std::vector<fb::Buffer> &like, uint64_t extent = 1,
                    const std::vector<std::pair<size_t, size_t>> &over = {}) {
    int64_t index = kernel(fb::KernelKind::generated, name, {}, extent);
    std::vector<fb::Operand> &operands = plan.kernels.back()->operands;
    for (const fb::Buffer &buffer : like)
      operands.emplace_back(buffer.bytes(), 0, buffer.access(), fb::DType::u8);
    for (auto [written, under] : over)
      operands[written] = {like[written].bytes(), static_cast<uint16_t>(under + 1), like[written].access(),
                           fb::DType::u8};
    return index;
  }

  fb::ProgramT &program(const std::string &name, unsigned events = 0, bool entry = true) {
    plan.programs.push_back(std::make_unique<fb::ProgramT>());
    auto &program = *plan.programs.back();
    program.name = name;
    program.entry = entry;
    program.events = events;
    return program;
  }

  static fb::Buffer buffer(unsigned region, uint64_t offset, uint64_t bytes,
                           fb::Access access = fb::Access::read_write) {
    return fb::Buffer(offset, bytes, static_cast<uint16_t>(region), access, 0, 0, 0);
  }

  // Missing fields at the end are 0.
  static void add(fb::ProgramT &program, Opcode opcode, unsigned stream, std::vector<fb::Buffer> buffers,
                  std::vector<int64_t> fields, const std::string &note = "") {
    program.instructions.push_back(std::make_unique<fb::InstructionT>());
    auto &instruction = *program.instructions.back();
    instruction.op = static_cast<uint16_t>(opcode);
    instruction.stream = static_cast<uint8_t>(stream);
    instruction.buffers = std::move(buffers);
    instruction.fields = std::move(fields);
    instruction.fields.resize(std::max(instruction.fields.size(), opcodeInfo(instruction.op)->fields.size()));
    instruction.note = note;
  }

  const std::vector<uint64_t> &pack() {
    for (auto &kernel : plan.kernels)
      if (kernel->kind == fb::KernelKind::generated && kernel->facts == 0)
        kernel->facts = KernelFacts::of(*kernel).hash();
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
    size_ = builder.GetSize();
    words_.assign((size_ + 7) / 8, 0);
    std::memcpy(words_.data(), builder.GetBufferPointer(), size_);
    return words_;
  }
  size_t packedSize() const { return size_; }

  Status tryOpen(const fb::Plan **opened) {
    pack();
    return openPlan(words_.data(), size_, opened);
  }

  const fb::Plan &open() {
    const fb::Plan *opened = nullptr;
    Status status = tryOpen(&opened);
    EXPECT_TRUE(status.isOk()) << status.message();
    return *opened;
  }

  fb::PlanT plan;

private:
  std::vector<uint64_t> words_; // aligned to 8
  size_t size_ = 0;
};

} // namespace cleave::rt::test

#endif
