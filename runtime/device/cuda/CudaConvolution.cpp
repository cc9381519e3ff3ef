// CudaDevice: convolutions and their gradients by cuDNN.
//
// The algorithm is chosen when the plan is bound for the first time: the first one in the library's own estimate that
// adds in a fixed order and needs no more than the planned workspace. It is kept in a file (Algorithms.h), so runs on
// one device and library version compute the same bits. f32 is computed in f32: the library's default, TF32, has a
// fraction of only 10 bits. If the library has no such algorithm, Cleave's own kernel computes the convolution. It also
// computes those that DnnConvolution.h excludes, and all of them with CLEAVE_CUDA_CONVOLUTION=own.
//
// Rejected: the library's graph interface. Its plans are named by trees of descriptors. The algorithms here are
// numbers, which a file can keep. For a single convolution both reach the same kernels.
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Workspace.h"

#include "kernels/convolution/cuda/DnnConvolution.h"
#include "runtime/base/Log.h"

namespace cleave::rt {

using cuda::checkDnn;
using cuda::Dnn;
using cuda::Handle;

namespace {

// The numbers of cudnn.h that Cleave uses.
constexpr int kFloat = 0, kHalf = 2, kBrain16 = 9;
constexpr int kChannelsFirst = 0, kCrossCorrelation = 1, kDeterministic = 1;
constexpr int kDefaultMath = 0, kTensorMath = 1, kFullMath = 3; // kDefaultMath allows TF32 for f32

// The layout of cudnnConvolutionFwdAlgoPerf_t, and of the types for the other passes.
struct Performance {
  int algorithm, status;
  float time;
  size_t workspaceBytes;
  int determinism, math;
  int reserved[3];
};

// The stored form of a choice: kByLibrary with an algorithm and its arithmetic, or kByCleave if the library has none.
constexpr uint64_t kByLibrary = 1, kByCleave = 2;
struct Choice {
  int algorithm = 0, math = 0;
};

// One of the three passes: its functions, and which operands of the kernel are the library's first and second.
struct Pass {
  decltype(Dnn::forwardChoice) choice;
  decltype(Dnn::forwardWorkspace) workspace;
  decltype(Dnn::forward) run;
  const char *name;
  size_t first, second;
};

Pass passOf(const Dnn &dnn, std::string_view kernel) {
  if (kernel == "convolution")
    return {dnn.forwardChoice, dnn.forwardWorkspace, dnn.forward, "cudnnConvolutionForward", 0, 1};
  if (kernel == "convolution_input_grad")
    return {dnn.inputGradChoice, dnn.inputGradWorkspace, dnn.inputGrad, "cudnnConvolutionBackwardData", 1, 0};
  return {dnn.weightGradChoice, dnn.weightGradWorkspace, dnn.weightGrad, "cudnnConvolutionBackwardFilter", 0, 1};
}

int typeOf(fb::DType type) { return type == fb::DType::f16 ? kHalf : type == fb::DType::bf16 ? kBrain16 : kFloat; }

class ConvolutionAction : public Action {
public:
  ConvolutionAction(const Dnn &dnn, Handle handle, const std::vector<Address> &operands, const KernelArgs &args)
      : dnn_(dnn), handle_(handle), pass_(passOf(dnn, args.def().name)), a_(operands[pass_.first]),
        b_(operands[pass_.second]), c_(operands[2]), workspace_(operands[3]), isFull_(args.dtype() == fb::DType::f32) {}
  ~ConvolutionAction() override {
    for (Handle tensor : tensors_)
      if (tensor)
        dnn_.tensorDestroy(tensor);
    if (filter_)
      dnn_.filterDestroy(filter_);
    if (convolution_)
      dnn_.convolutionDestroy(convolution_);
  }

  Status setUp(const DnnConvolution &convolution, const KernelArgs &args);
  // Finds the stored choice for this convolution, or makes one. `isThere` says whether the library computes it.
  Status choose(const KernelArgs &args, Algorithms &algorithms, bool *isThere);
  Status run(const Frames &frames, uint32_t) override {
    const float one = 1, zero = 0;
    return checkDnn(pass_.run(handle_, &one, descA_, a_.at(frames), descB_, b_.at(frames), convolution_,
                              choice_.algorithm, workspace_.at(frames), workspace_.bytes(), &zero, descC_,
                              c_.at(frames)),
                    pass_.name);
  }

private:
  Status describeTensor(const DnnConvolution::Sizes &sizes, int dims, int type, Handle *tensor);
  bool fits(const Choice &choice);
  Status propose(bool *isThere);
  std::string describe(const KernelArgs &args) const;

  const Dnn &dnn_;
  Handle handle_;
  Pass pass_;
  Address a_, b_, c_;
  Workspace workspace_;
  bool isFull_;
  Handle tensors_[2] = {}, filter_ = nullptr, convolution_ = nullptr; // tensors of x and y
  Handle descA_ = nullptr, descB_ = nullptr, descC_ = nullptr;        // three of the above, in the order of the pass
  Choice choice_;
};

Status ConvolutionAction::describeTensor(const DnnConvolution::Sizes &sizes, int dims, int type, Handle *tensor) {
  CLEAVE_TRY(checkDnn(dnn_.tensorCreate(tensor), "cudnnCreateTensorDescriptor"));
  DnnConvolution::Sizes strides{};
  int stride = 1;
  for (int i = dims; i-- > 0;) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= sizes[static_cast<size_t>(i)];
  }
  return checkDnn(dnn_.tensorSet(*tensor, type, dims, sizes.data(), strides.data()), "cudnnSetTensorNdDescriptor");
}

Status ConvolutionAction::setUp(const DnnConvolution &convolution, const KernelArgs &args) {
  int type = typeOf(args.dtype());
  CLEAVE_TRY(describeTensor(convolution.x, convolution.dims, type, &tensors_[0]));
  CLEAVE_TRY(describeTensor(convolution.y, convolution.dims, type, &tensors_[1]));
  CLEAVE_TRY(checkDnn(dnn_.filterCreate(&filter_), "cudnnCreateFilterDescriptor"));
  CLEAVE_TRY(checkDnn(dnn_.filterSet(filter_, type, kChannelsFirst, convolution.dims, convolution.w.data()),
                      "cudnnSetFilterNdDescriptor"));
  CLEAVE_TRY(checkDnn(dnn_.convolutionCreate(&convolution_), "cudnnCreateConvolutionDescriptor"));
  CLEAVE_TRY(
      checkDnn(dnn_.convolutionSet(convolution_, convolution.dims - 2, convolution.pad.data(),
                                   convolution.stride.data(), convolution.dilation.data(), kCrossCorrelation, kFloat),
               "cudnnSetConvolutionNdDescriptor"));
  CLEAVE_TRY(checkDnn(dnn_.convolutionGroups(convolution_, convolution.groups), "cudnnSetConvolutionGroupCount"));
  std::string_view kernel = args.def().name;
  descA_ = kernel == "convolution_input_grad" ? filter_ : tensors_[0];
  descB_ = kernel == "convolution" ? filter_ : tensors_[1];
  descC_ = kernel == "convolution" ? tensors_[1] : kernel == "convolution_input_grad" ? tensors_[0] : filter_;
  return checkDnn(dnn_.convolutionMath(convolution_, isFull_ ? kFullMath : kTensorMath), "cudnnSetConvolutionMathType");
}

// True if the library computes this choice in the planned workspace. Sets the arithmetic of the descriptor.
bool ConvolutionAction::fits(const Choice &choice) {
  if (isFull_ ? choice.math != kFullMath : choice.math != kTensorMath && choice.math != kDefaultMath)
    return false;
  size_t needed = 0;
  return dnn_.convolutionMath(convolution_, choice.math) == 0 &&
         pass_.workspace(handle_, descA_, descB_, convolution_, descC_, choice.algorithm, &needed) == 0 &&
         needed <= workspace_.bytes();
}

Status ConvolutionAction::propose(bool *isThere) {
  constexpr int kMost = 32;
  Performance results[kMost] = {};
  int found = 0;
  *isThere = false;
  cuda::Result result = pass_.choice(handle_, descA_, descB_, convolution_, descC_, kMost, &found, results);
  if (result / 1000 == 3) // not supported
    return Status::ok();
  CLEAVE_TRY(checkDnn(result, "the choice of an algorithm"));
  for (int i = 0; i < found && !*isThere; ++i) {
    choice_ = {results[i].algorithm, isFull_ ? kFullMath : results[i].math};
    *isThere = results[i].status == 0 && results[i].determinism == kDeterministic && fits(choice_);
  }
  return Status::ok();
}

Status ConvolutionAction::choose(const KernelArgs &args, Algorithms &algorithms, bool *isThere) {
  std::string product = describe(args);
  if (const Algorithms::Algorithm *known = algorithms.find(product)) {
    *isThere = (*known)[0] == kByLibrary;
    choice_ = {static_cast<int>((*known)[1]), static_cast<int>((*known)[2])};
    if ((*known)[0] == kByCleave || (*isThere && fits(choice_)))
      return Status::ok();
    return invalidArgument(
        algorithms.path() + " has an algorithm for " + product +
        " that cuDNN does not take; remove the file, and algorithms are chosen anew, or name another "
        "one in CLEAVE_CUDA_ALGORITHMS");
  }
  CLEAVE_TRY(propose(isThere));
  if (!*isThere) {
    algorithms.add(product, {kByCleave});
    if (algorithms.tells())
      log(LogLevel::Warning, -1,
          "cuDNN has no algorithm with a fixed order of addition for " + product +
              "; Cleave's own kernel computes it, which is slow");
    return Status::ok();
  }
  algorithms.add(product, {kByLibrary, static_cast<uint64_t>(choice_.algorithm), static_cast<uint64_t>(choice_.math)});
  return Status::ok();
}

// The key of a choice: everything that it depends on.
std::string ConvolutionAction::describe(const KernelArgs &args) const {
  std::string text(args.def().name);
  for (const KernelDef::ParamDef &param : args.def().params) {
    std::string values;
    for (int64_t value : param.isList ? args.list(param.name) : std::vector<int64_t>{args[param.name]})
      values += (values.empty() ? "" : ",") + std::to_string(value);
    text += " " + std::string(param.name.substr(0, param.name.find('.'))) + "=" + values;
  }
  return text + " workspace=" + std::to_string(workspace_.bytes());
}

Status usesLibrary(bool *result) {
  std::string way = envString("CLEAVE_CUDA_CONVOLUTION", "cudnn");
  *result = way == "cudnn";
  return *result || way == "own" ? Status::ok()
                                 : invalidArgument("CLEAVE_CUDA_CONVOLUTION='" + way + "': expected cudnn or own");
}

} // namespace

// Each stream has a handle. A shared handle would have to change its stream while a graph is captured.
Status CudaDevice::openDnn(Handle stream, Handle *handle) {
  if (!dnn_) {
    const Dnn *dnn = nullptr;
    CLEAVE_TRY(cuda::openDnn(&dnn));
    CLEAVE_TRY(Algorithms::open("cuDNN " + std::to_string(dnn->version()) + ", " + deviceName_, options_.rank,
                                &dnnAlgorithms_));
    dnn_ = dnn;
  }
  Handle &known = dnnHandles_[stream];
  if (!known) {
    CLEAVE_TRY(checkDnn(dnn_->create(&known), "cudnnCreate, which needs some free memory and no older driver,"));
    CLEAVE_TRY(checkDnn(dnn_->streamSet(known, stream), "cudnnSetStream"));
  }
  *handle = known;
  return Status::ok();
}

Status CudaDevice::bindConvolution(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action) {
  std::optional<DnnConvolution> convolution = DnnConvolution::of(args);
  bool isWanted = false, isThere = false;
  CLEAVE_TRY(usesLibrary(&isWanted));
  if (!convolution || !isWanted)
    return Status::ok();
  Handle stream = nullptr, handle = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  CLEAVE_TRY(openDnn(stream, &handle));
  auto bound = std::make_unique<ConvolutionAction>(*dnn_, handle, request.operands, args);
  CLEAVE_TRY(bound->setUp(*convolution, args));
  CLEAVE_TRY(bound->choose(args, dnnAlgorithms_, &isThere));
  if (isThere)
    *action = std::move(bound);
  return Status::ok();
}

} // namespace cleave::rt
