#include "test/runtime/main/TinyModel.h"

#include "runtime/plan/Seals.h"
#include "runtime/state/SafeTensors.h"
#include "test/runtime/TempDir.h"

namespace cleave::rt::test {
namespace {

using Access = fb::Access;

// Byte offsets in the state region.
constexpr uint64_t kW = 0, kM = 64, kScalars = 128, kTable = 512;
enum Scalar { Lr, Loss, EvalSum, EvalCount, GradNorm };
constexpr uint64_t scalarOffset(unsigned scalar) { return kScalars + 64 * scalar; }

// values: gradient[4], sum of losses, number of samples; padded to 8 elements for the ring.
constexpr uint64_t kValues = 8;

const float *in(void *const *buffers, int i) { return static_cast<const float *>(buffers[i]); }
float *out(void *const *buffers, int i) { return static_cast<float *>(buffers[i]); }

// x, w -> values
void gradient(void *const *buffers, int64_t, int64_t) {
  if (duringTinyStep())
    duringTinyStep()();
  const float *x = in(buffers, 0), *w = in(buffers, 1);
  float *values = out(buffers, 2);
  std::fill(values, values + kValues, 0.0f);
  for (unsigned b = 0; b < kBatch; ++b)
    for (unsigned i = 0; i < kWidth; ++i) {
      float difference = w[i] - x[b * kWidth + i];
      values[i] += difference;
      values[4] += difference * difference / 2;
    }
  values[5] = kBatch;
}

// values, lr, w, m, loss
void update(void *const *buffers, int64_t, int64_t) {
  const float *values = in(buffers, 0), *lr = in(buffers, 1);
  float *w = out(buffers, 2), *m = out(buffers, 3);
  for (unsigned i = 0; i < kWidth; ++i) {
    m[i] = 0.9f * m[i] + values[i] / values[5];
    w[i] -= *lr * m[i];
  }
  *out(buffers, 4) = values[4] / values[5];
}

// values, sum, count
void accumulate(void *const *buffers, int64_t, int64_t) {
  *out(buffers, 1) += in(buffers, 0)[4];
  *out(buffers, 2) += in(buffers, 0)[5];
}

// x, w -> y
void scale(void *const *buffers, int64_t, int64_t) {
  for (unsigned i = 0; i < kBatch * kWidth; ++i)
    out(buffers, 2)[i] = in(buffers, 0)[i] * in(buffers, 1)[i % kWidth];
}

template <bool LooksAhead> void predict(void *const *buffers, int64_t, int64_t) {
  const auto *tokens = static_cast<const int64_t *>(buffers[0]);
  for (unsigned i = 0; i < kBatch * kContext; ++i)
    for (unsigned byte = 0; byte < 256; ++byte)
      out(buffers, 1)[i * 256 + byte] = byte == (tokens[LooksAhead ? i / kContext * kContext + 7 : i] + 1) % 256;
}

std::string makeWeights() {
  cleave::test::TempDir dir;
  float w[] = {1, 2, 3, 4}, table[] = {10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_TRUE(writeSafeTensors(dir / "w", {{"w", ElementType::f32, {4}, (std::byte *)w, sizeof w, nullptr},
                                           {"table", ElementType::f32, {8}, (std::byte *)table, sizeof table, nullptr}})
                  .isOk());
  std::ifstream file(dir / "w", std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

} // namespace

std::function<void()> &duringTinyStep() {
  static std::function<void()> action;
  return action;
}

TinyModel::TinyModel(unsigned dataRanks, TinyKind kind) : builder_({{"dp", dataRanks}}), weights_(makeWeights()) {
  builder_.plan.batch = kBatch;
  builder_.plan.data_axes = {0};
  builder_.plan.threads = 1;
  states_ = builder_.region("state", fb::RegionKind::persistent, 1024);
  input_ = builder_.region("input", fb::RegionKind::input, 1024);
  output_ = builder_.region("output", fb::RegionKind::output, kBatch * kContext * 256 * 4);
  values_ = builder_.region("values", fb::RegionKind::transient, 4 * kValues);
  staging_ = builder_.region("staging", fb::RegionKind::communication, 4 * kValues);
  addStates();
  if (kind == TinyKind::Training)
    addTraining(dataRanks);
  if (kind == TinyKind::Training || kind == TinyKind::Inference || kind == TinyKind::EmptyInference)
    addInference(kind == TinyKind::EmptyInference ? 0 : kBatch);
  else
    addText(kind == TinyKind::EmptyText ? 0 : kBatch, kind == TinyKind::LookingAhead);
  plan_ = builder_.pack();
  model_.abi = CLEAVE_MODEL_ABI;
  model_.name = "tiny";
  model_.plan = plan_.data();
  model_.plan_size = builder_.packedSize();
  model_.kernels = functions_.data();
  for (const auto &kernel : builder_.plan.kernels)
    facts_.push_back(kernel->facts);
  model_.kernel_count = facts_.size();
  for (uint64_t seal : sealsOf(*fb::GetPlan(model_.plan), model_.plan, model_.plan_size))
    facts_.push_back(seal);
  model_.kernel_facts = facts_.data();
  model_.weights = weights_.data();
  model_.weights_size = weights_.size();
}

void TinyModel::addStates() {
  auto add = [&](const char *name, fb::Role role, uint64_t elements, uint64_t offset) -> fb::StateT & {
    fb::StateT &state = builder_.state(name, fb::DType::f32, elements, states_, offset);
    state.role = role;
    state.segments.push_back(std::make_unique<fb::SegmentT>());
    state.segments[0]->name = name;
    state.segments[0]->shape = {static_cast<int64_t>(elements)};
    return state;
  };
  add("w", fb::Role::parameter, kWidth, kW).segments[0]->init = fb::InitKind::weights;
  fb::StateT &momentum = add("w.momentum", fb::Role::optimizer, kWidth, kM);
  momentum.slot = "momentum";
  momentum.segments[0]->name = "w";
  // No program uses it. It is a state that is stored in parts, one on each rank.
  fb::StateT &table = add("table", fb::Role::buffer, 8, kTable);
  table.segments[0]->init = fb::InitKind::weights;
  table.split_axes = {0};
  const char *scalars[] = {"scalar.lr", "scalar.loss", "scalar.eval_loss_sum", "scalar.eval_count"};
  for (unsigned i = 0; i < 4; ++i)
    add(scalars[i], fb::Role::scalar, 1, scalarOffset(i));
}

void TinyModel::addPort(std::vector<std::unique_ptr<fb::PortT>> &ports, const char *name, fb::DType type,
                        std::vector<int64_t> shape, unsigned region, uint64_t offset) {
  ports.push_back(std::make_unique<fb::PortT>());
  fb::PortT &port = *ports.back();
  port.name = name;
  port.dtype = type;
  port.shape = std::move(shape);
  port.region = static_cast<uint16_t>(region);
  port.offset = offset;
  port.batch_dim = 0;
  port.split_axes = {0};
}

void TinyModel::launch(fb::ProgramT &program, const char *name, cleave_kernel_fn function,
                       std::vector<fb::Buffer> buffers) {
  int64_t kernel = builder_.generated(name, buffers);
  functions_.push_back(function);
  builder_.add(program, Opcode::Launch, 0, std::move(buffers), {kernel});
}

void TinyModel::addTraining(unsigned dataRanks) {
  fb::Buffer x = builder_.buffer(input_, 0, 4 * kBatch * kWidth, Access::read);
  fb::Buffer w = builder_.buffer(states_, kW, 16), m = builder_.buffer(states_, kM, 16);
  fb::Buffer wRead = builder_.buffer(states_, kW, 16, Access::read);
  fb::Buffer values = builder_.buffer(values_, 0, 4 * kValues);
  auto scalar = [&](Scalar s) { return builder_.buffer(states_, scalarOffset(s), 4); };
  int64_t group = builder_.group({0});
  auto compute = [&](fb::ProgramT &program) {
    launch(program, "gradient", gradient, {x, wRead, values});
    if (dataRanks > 1)
      builder_.add(program, Opcode::AllReduce, 0, {values, builder_.buffer(staging_, 0, 4 * kValues / dataRanks)},
                   {group, int64_t(fb::DType::f32), 0, 0, int64_t(kValues)});
  };
  fb::ProgramT &train = builder_.program("train_step");
  addPort(train.inputs, "x", fb::DType::f32, {kBatch, kWidth}, input_);
  compute(train);
  launch(train, "update", update, {values, scalar(Lr), w, m, scalar(Loss)});
  fb::ProgramT &evaluate = builder_.program("evaluate");
  addPort(evaluate.inputs, "x", fb::DType::f32, {kBatch, kWidth}, input_);
  compute(evaluate);
  launch(evaluate, "accumulate", accumulate, {values, scalar(EvalSum), scalar(EvalCount)});
}

void TinyModel::addInference(unsigned batch) {
  fb::ProgramT &infer = builder_.program("infer");
  addPort(infer.inputs, "x", fb::DType::f32, {batch, kWidth}, input_);
  addPort(infer.outputs, "y", fb::DType::f32, {batch, kWidth}, output_);
  builder_.plan.properties.push_back(std::make_unique<fb::PropertyT>());
  builder_.plan.properties.back()->key = "mixes.y";
  builder_.plan.properties.back()->value = "nothing";
  launch(infer, "scale", scale,
         {builder_.buffer(input_, 0, 4 * kBatch * kWidth, Access::read), builder_.buffer(states_, kW, 16, Access::read),
          builder_.buffer(output_, 0, 4 * kBatch * kWidth)});
}

void TinyModel::addText(unsigned batch, bool looksAhead) {
  fb::ProgramT &infer = builder_.program("infer");
  addPort(infer.inputs, "tokens", fb::DType::i64, {batch, kContext}, input_);
  addPort(infer.outputs, "logits", fb::DType::f32, {batch, kContext, 256}, output_);
  launch(infer, "predict", looksAhead ? predict<true> : predict<false>,
         {builder_.buffer(input_, 0, 8 * kBatch * kContext, Access::read),
          builder_.buffer(output_, 0, 4 * kBatch * kContext * 256)});
}

} // namespace cleave::rt::test
