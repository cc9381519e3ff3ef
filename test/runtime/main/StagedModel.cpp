#include "test/runtime/main/StagedModel.h"

#include "runtime/plan/RankKinds.h"
#include "runtime/plan/Seals.h"
#include "runtime/state/SafeTensors.h"
#include "test/runtime/TempDir.h"

#include <map>

namespace cleave::rt::test {
namespace {

using Access = fb::Access;
constexpr int64_t kF32 = int64_t(fb::DType::f32);
constexpr unsigned kWidth = StagedModel::kWidth;
constexpr int64_t kValues = kWidth * StagedModel::kBatch; // of a micro-batch of one rank
constexpr float kGlobal = 8 * kWidth;                     // values of a global batch

const float *in(void *const *buffers, int i) { return static_cast<const float *>(buffers[i]); }
float *out(void *const *buffers, int i) { return static_cast<float *>(buffers[i]); }

// a, w -> a * w
void scale(void *const *b, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    out(b, 2)[i] = in(b, 0)[i] * in(b, 1)[i % kWidth];
}
// y, t -> dy; sum += their distance
void compare(void *const *b, int64_t, int64_t) {
  for (int64_t i = 0; i < kValues; ++i) {
    float distance = in(b, 0)[i] - in(b, 1)[i];
    out(b, 2)[i] = 2 * distance / kGlobal;
    out(b, 3)[0] += distance * distance / kGlobal;
  }
}
// x, dy -> dw += x * dy
void accumulate(void *const *b, int64_t, int64_t) {
  for (int64_t i = 0; i < kValues; ++i)
    out(b, 2)[i % kWidth] += in(b, 0)[i] * in(b, 1)[i];
}
// dw, lr -> w, m
void update(void *const *b, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    out(b, 3)[i] = 0.5f * out(b, 3)[i] + in(b, 0)[i];
    out(b, 2)[i] -= *in(b, 1) * out(b, 3)[i];
  }
}
void take(void *const *b, int64_t, int64_t) { *out(b, 1) = *in(b, 0); }
// sum -> sum and count of the evaluation
void evaluated(void *const *b, int64_t, int64_t) {
  *out(b, 1) += *in(b, 0) * kGlobal;
  *out(b, 2) += kGlobal;
}

const std::map<std::string, cleave_kernel_fn> kFunctions = {{"scale", scale},           {"compare", compare},
                                                            {"accumulate", accumulate}, {"update", update},
                                                            {"take", take},             {"evaluated", evaluated}};

// Builds the plan of one stage.
class Stage {
public:
  Stage(const StagedMesh &mesh, unsigned stage)
      : builder({{"pp", mesh.pp}, {"dp", mesh.dp}, {"fsdp", mesh.fsdp}}), mesh_(mesh), stage_(stage),
        layers_(StagedModel::kLayers / mesh.pp) {
    fb::PlanT &plan = builder.plan;
    plan.threads = 1;
    plan.batch = StagedModel::kBatch;
    plan.micro_batches = mesh.microBatches();
    plan.data_axes = {1, 2};
    if (mesh.pp > 1) {
      plan.kind = "stage" + std::to_string(stage);
      plan.where.push_back(std::make_unique<fb::AxisRangeT>());
      plan.where[0]->begin = stage;
      plan.where[0]->end = stage + 1;
    }
    addMemory();
    addStates();
    all_ = builder.group({1, 2});
    dp_ = builder.group({1});
    fsdp_ = builder.group({2});
    addForward();
    addBackward();
    addTraining();
    addEvaluation();
  }

  PlanBuilder builder;

private:
  enum Ports : uint64_t { kX = 0, kT = 64 };
  enum Scalars : uint64_t { kLr = 1024, kLoss = 1088, kEvalSum = 1152, kEvalCount = 1216 };
  static constexpr uint64_t kSum = 512; // sum of the losses, in the transient region

  bool isFirst() const { return stage_ == 0; }
  bool isLast() const { return stage_ + 1 == mesh_.pp; }

  void addMemory() {
    states_ = builder.region("states", fb::RegionKind::persistent, 2048);
    if (isFirst() || isLast())
      input_ = builder.region("input", fb::RegionKind::input, 128, mesh_.microBatches());
    values_ = builder.region("values", fb::RegionKind::residual, 64 * (layers_ + 3), mesh_.microBatches());
    transient_ = builder.region("transient", fb::RegionKind::transient, 1024);
    staging_ = builder.region("staging", fb::RegionKind::communication, 64);
  }

  fb::StateT &addState(const std::string &name, fb::Role role, int64_t elements, uint64_t offset) {
    fb::StateT &state = builder.state(name, fb::DType::f32, static_cast<uint64_t>(elements), states_, offset);
    state.role = role;
    state.segments.push_back(std::make_unique<fb::SegmentT>());
    state.segments[0]->name = name;
    state.segments[0]->shape = {elements};
    return state;
  }

  void addStates() {
    for (unsigned i = 0; i < layers_; ++i) {
      std::string name = "w" + std::to_string(stage_ * layers_ + i);
      fb::StateT &w = addState(name, fb::Role::parameter, kWidth, 256 * i);
      w.segments[0]->init = fb::InitKind::weights;
      w.split_axes = {2};
      fb::StateT &m = addState(name + ".momentum", fb::Role::optimizer, kWidth, 256 * i + 64);
      m.slot = "momentum";
      m.segments[0]->name = name;
      m.split_axes = {2};
      addState(name + ".grad", fb::Role::gradient, kWidth, 256 * i + 128).partial_axes = {1, 2};
    }
    addState("scalar.lr", fb::Role::scalar, 1, kLr);
    if (!isLast())
      return;
    addState("scalar.loss", fb::Role::scalar, 1, kLoss);
    addState("scalar.eval_loss_sum", fb::Role::scalar, 1, kEvalSum);
    addState("scalar.eval_count", fb::Role::scalar, 1, kEvalCount);
  }

  fb::Buffer at(unsigned region, uint64_t offset, uint64_t bytes, Access access) const {
    return PlanBuilder::buffer(region, offset, bytes, access);
  }
  // The input of layer i, or the output of the last layer. The gradients use two of these buffers in turn.
  fb::Buffer value(unsigned i, Access access) const {
    return i == 0 && isFirst() ? at(input_, kX, 64, access) : at(values_, 64 * i, 64, access);
  }
  fb::Buffer gradient(unsigned i, Access access) const {
    return at(values_, 64 * (layers_ + 1 + i % 2), 64, access);
  }
  fb::Buffer whole(unsigned layer, Access access) const { return at(transient_, 64 * layer, 32, access); }
  fb::Buffer dw(unsigned layer, Access access) const { return at(states_, 256 * layer + 128, 32, access); }
  uint64_t partBytes() const { return 32 / mesh_.fsdp; }
  fb::Buffer part(const fb::Buffer &of, Access access) const {
    return {of.offset(), partBytes(), of.region(), access, static_cast<uint16_t>(fsdp_ + 1), 0, partBytes()};
  }
  fb::Buffer sum(Access access) const { return at(transient_, kSum, 16, access); }

  void launch(fb::ProgramT &p, const char *name, std::vector<fb::Buffer> buffers, uint64_t extent = 1) {
    int64_t kernel = builder.generated(name, buffers, extent);
    builder.add(p, Opcode::Launch, 0, std::move(buffers), {kernel}, name);
  }
  void collective(fb::ProgramT &p, Opcode opcode, fb::Buffer data, int64_t group) {
    std::vector<fb::Buffer> buffers = {data};
    if (opcode != Opcode::AllGather)
      buffers.push_back(at(staging_, 0, 64, Access::write));
    int64_t count = static_cast<int64_t>(data.bytes() / 4);
    builder.add(p, opcode, 0, buffers,
                opcode == Opcode::AllGather ? std::vector<int64_t>{group, kF32, 0, count}
                                            : std::vector<int64_t>{group, kF32, 0, 0, count});
  }
  void send(fb::ProgramT &p, fb::Buffer value, int64_t offset) {
    builder.add(p, Opcode::Send, 0, {value}, {0, offset, offset < 0, kF32, kValues});
  }
  void receive(fb::ProgramT &p, fb::Buffer value, int64_t offset) {
    builder.add(p, Opcode::Recv, 0, {value}, {0, offset, offset > 0, kF32, kValues});
  }

  void addForward() {
    fb::ProgramT &p = builder.program("forward", 0, false);
    if (!isFirst())
      receive(p, value(0, Access::write), -1);
    for (unsigned i = 0; i < layers_; ++i)
      launch(p, "scale", {value(i, Access::read), whole(i, Access::read), value(i + 1, Access::write)}, kValues);
    if (isLast())
      launch(p, "compare",
             {value(layers_, Access::read), at(input_, kT, 64, Access::read), gradient(layers_, Access::write),
              sum(Access::read_write)});
    else
      send(p, value(layers_, Access::read), 1);
  }

  void addBackward() {
    fb::ProgramT &p = builder.program("backward", 0, false);
    if (!isLast())
      receive(p, gradient(layers_, Access::write), 1);
    for (unsigned i = layers_; i-- > 0;) {
      launch(p, "accumulate", {value(i, Access::read), gradient(i + 1, Access::read), dw(i, Access::read_write)});
      launch(p, "scale", {gradient(i + 1, Access::read), whole(i, Access::read), gradient(i, Access::write)}, kValues);
    }
    if (!isFirst())
      send(p, gradient(0, Access::read), -1);
  }

  void addPort(fb::ProgramT &p, const char *name, uint64_t offset, bool isHere) {
    p.inputs.push_back(std::make_unique<fb::PortT>());
    fb::PortT &port = *p.inputs.back();
    port.name = name;
    port.shape = {StagedModel::kBatch, kWidth};
    port.absent = !isHere;
    port.region = static_cast<uint16_t>(isHere ? input_ : 0);
    port.offset = isHere ? offset : 0;
    port.batch_dim = 0;
    port.split_axes = {1, 2};
  }

  // The beginning of both entries: gathers all weights, and sets the loss to 0.
  fb::ProgramT &addEntry(const char *name) {
    fb::ProgramT &p = builder.program(name);
    addPort(p, "x", kX, isFirst());
    addPort(p, "t", kT, isLast());
    for (unsigned i = 0; i < layers_; ++i) {
      builder.add(p, Opcode::Copy, 0,
                  {part(whole(i, Access::write), Access::write), at(states_, 256 * i, partBytes(), Access::read)}, {});
      collective(p, Opcode::AllGather, whole(i, Access::read_write), fsdp_);
    }
    builder.add(p, Opcode::Fill, 0, {sum(Access::write)}, {0, 4});
    return p;
  }
  void call(fb::ProgramT &p, int64_t callee) { builder.add(p, Opcode::Call, 0, {}, {callee, mesh_.microBatches(), 0, 0}); }

  void addTraining() {
    fb::ProgramT &p = addEntry("train_step");
    for (unsigned i = 0; i < layers_; ++i)
      builder.add(p, Opcode::Fill, 0, {dw(i, Access::write)}, {0, 4});
    call(p, 0);
    call(p, 1);
    for (unsigned i = 0; i < layers_; ++i) {
      collective(p, Opcode::AllReduce, dw(i, Access::read_write), dp_);
      collective(p, Opcode::ReduceScatter, dw(i, Access::read_write), fsdp_);
      launch(p, "update",
             {part(dw(i, Access::read), Access::read), at(states_, kLr, 4, Access::read),
              at(states_, 256 * i, partBytes(), Access::read_write),
              at(states_, 256 * i + 64, partBytes(), Access::read_write)},
             kWidth / mesh_.fsdp);
    }
    if (!isLast())
      return;
    collective(p, Opcode::AllReduce, sum(Access::read_write), all_);
    launch(p, "take", {sum(Access::read), at(states_, kLoss, 4, Access::write)});
  }

  void addEvaluation() {
    fb::ProgramT &p = addEntry("evaluate");
    call(p, 0);
    if (!isLast())
      return;
    collective(p, Opcode::AllReduce, sum(Access::read_write), all_);
    launch(p, "evaluated",
           {sum(Access::read), at(states_, kEvalSum, 4, Access::read_write),
            at(states_, kEvalCount, 4, Access::read_write)});
  }

  StagedMesh mesh_;
  unsigned stage_, layers_;
  unsigned states_ = 0, input_ = 0, values_ = 0, transient_ = 0, staging_ = 0;
  int64_t all_ = 0, dp_ = 0, fsdp_ = 0;
};

std::string makeWeights() {
  cleave::test::TempDir dir;
  float w[StagedModel::kLayers][kWidth];
  std::vector<TensorView> tensors;
  for (unsigned layer = 0; layer < StagedModel::kLayers; ++layer) {
    for (unsigned i = 0; i < kWidth; ++i)
      w[layer][i] = 1 + 0.125f * static_cast<float>((3 * layer + 5 * i) % 7) - 0.375f;
    tensors.push_back({"w" + std::to_string(layer), ElementType::f32, {kWidth}, reinterpret_cast<std::byte *>(w[layer]),
                       sizeof w[layer], nullptr});
  }
  EXPECT_TRUE(writeSafeTensors(dir / "w", tensors).isOk());
  std::ifstream file(dir / "w", std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

} // namespace

StagedModel::StagedModel(const StagedMesh &mesh) : weights_(makeWeights()) {
  for (unsigned s = 0; s < mesh.pp; ++s) {
    Stage stage(mesh, s);
    stage.builder.pack(); // fills in the facts of the kernels
    if (s == 0)
      builder_ = std::make_unique<PlanBuilder>(std::move(stage.builder));
    else
      builder_->plan.kinds.push_back(std::make_unique<fb::PlanT>(stage.builder.plan));
  }
  const fb::Plan &plan = builder_->open();
  for (const fb::Plan *kind : kindsOf(plan))
    for (const fb::Kernel *kernel : *kind->kernels()) {
      functions_.push_back(kFunctions.at(kernel->name()->str()));
      facts_.push_back(kernel->facts());
    }
  model_.abi = CLEAVE_MODEL_ABI;
  model_.name = "staged";
  model_.plan = builder_->pack().data();
  model_.plan_size = builder_->packedSize();
  model_.kernels = functions_.data();
  model_.kernel_count = facts_.size();
  for (uint64_t seal : sealsOf(*fb::GetPlan(model_.plan), model_.plan, model_.plan_size))
    facts_.push_back(seal);
  model_.kernel_facts = facts_.data();
  model_.weights = weights_.data();
  model_.weights_size = weights_.size();
}

} // namespace cleave::rt::test
