// The entry points of cuDNN.
//
// The heuristics first return an algorithm without a fixed order of addition, and one with an enormous workspace, if
// the pass has them. So a test finds a caller that takes the first algorithm. f32 is rounded to TF32 unless the
// descriptor forbids it, as in the library. Options for what may differ on another machine:
//   CLEAVE_EMULATED_CUDNN_VERSION=91900
//   CLEAVE_EMULATED_CUDNN_FIRST=N      the heuristics return their algorithms from the Nth on (from 0)
//   CLEAVE_EMULATED_CUDNN_ORDERED=0    no algorithm has a fixed order of addition
#include "test/cuda/emulated/cudnn/Problem.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace cleave::emulated::cudnn;

#define CLEAVE_EMULATED_API extern "C" __attribute__((visibility("default")))

namespace {

struct Library {
  void *stream = nullptr;
};

thread_local std::string lastError;

int refuse(int status, const std::string &why) {
  lastError = why;
  fprintf(stderr, "emulated cuDNN: %s\n", why.c_str());
  return status;
}

uint64_t numberOf(const char *name, uint64_t fallback) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 0) : fallback;
}

struct Work {
  Problem problem;
  Operands operands;
  Algorithm algorithm;
};

// Makes a problem of the operands of a pass, in the library's order.
int problemOf(Pass pass, const Tensor *a, const Tensor *b, const ConvolutionDesc *desc, const Tensor *c, Problem &p) {
  if (!a || !b || !desc || !c)
    return refuse(BadParam, "a descriptor is missing");
  const Tensor &x = pass == Pass::InputGrad ? *c : *a, &y = pass == Pass::Forward ? *c : *b,
               &w = pass == Pass::Forward     ? *b
                    : pass == Pass::InputGrad ? *a
                                              : *c;
  std::string why;
  if (int status = makeProblem(pass, x, y, w, *desc, p, why))
    return refuse(status, why);
  return Success;
}

bool isOrdered() { return numberOf("CLEAVE_EMULATED_CUDNN_ORDERED", 1) != 0; }

int choose(Pass pass, Library *library, const Tensor *a, const Tensor *b, const ConvolutionDesc *desc, const Tensor *c,
           int wanted, int *found, Performance *results) {
  if (!library || wanted < 1 || !found || !results)
    return refuse(BadParam, "the choice of an algorithm lacks an argument");
  Problem p;
  if (int status = problemOf(pass, a, b, desc, c, p))
    return status;
  std::vector<Algorithm> all = algorithmsOf(pass);
  std::rotate(all.begin(), all.begin() + long(numberOf("CLEAVE_EMULATED_CUDNN_FIRST", 0) % all.size()), all.end());
  *found = 0;
  for (const Algorithm &one : all) {
    if (*found == wanted)
      break;
    Performance &r = results[(*found)++];
    r = {};
    r.algorithm = one.number;
    r.status = Success;
    r.time = -1;
    r.memory = one.workspace;
    r.determinism = isOrdered() ? one.determinism : NonDeterministic;
    r.math = p.math;
  }
  return Success;
}

const Algorithm *findAlgorithm(Pass pass, int number) {
  for (const Algorithm &one : algorithmsOf(pass))
    if (one.number == number)
      return &one;
  return nullptr;
}

int workspaceSize(Pass pass, const Tensor *a, const Tensor *b, const ConvolutionDesc *desc, const Tensor *c, int number,
                  size_t *bytes) {
  Problem p;
  if (int status = problemOf(pass, a, b, desc, c, p))
    return status;
  const Algorithm *algorithm = findAlgorithm(pass, number);
  if (!algorithm)
    return refuse(NotSupported, "algorithm " + std::to_string(number) + " does not compute this");
  *bytes = algorithm->workspace;
  return Success;
}

int run(Pass pass, const char *name, Library *library, const void *alpha, const Tensor *a, const void *dataA,
        const Tensor *b, const void *dataB, const ConvolutionDesc *desc, int number, void *workspace, size_t bytes,
        const void *beta, const Tensor *c, void *dataC) {
  if (!library || !alpha || !beta || !dataA || !dataB || !dataC)
    return refuse(BadParam, "an operand is missing");
  auto work = std::make_unique<Work>();
  if (int status = problemOf(pass, a, b, desc, c, work->problem))
    return status;
  const Algorithm *algorithm = findAlgorithm(pass, number);
  if (!algorithm)
    return refuse(NotSupported, "algorithm " + std::to_string(number) + " does not compute this");
  if (algorithm->workspace > bytes || (algorithm->workspace && !workspace))
    return refuse(SizeInsufficient, "the algorithm needs a workspace of " + std::to_string(algorithm->workspace) +
                                        " bytes, and gets " + std::to_string(bytes));
  auto address = [](const void *p) { return reinterpret_cast<uint64_t>(p); };
  if (algorithm->workspace && address(workspace) % 256)
    return refuse(MisalignedPointer, "the workspace is not aligned to 256 bytes");
  work->algorithm = *algorithm;
  Operands &o = work->operands;
  o.a = address(dataA);
  o.b = address(dataB);
  o.c = address(dataC);
  o.workspace = address(workspace);
  memcpy(&o.alpha, alpha, 4);
  memcpy(&o.beta, beta, 4);
  int result = cleave_emulated_enqueue(
      library->stream, name,
      [](void *data, const cleave_emulated_memory *memory) {
        auto *w = static_cast<Work *>(data);
        compute(w->problem, w->operands, w->algorithm, *memory);
      },
      work.release(), [](void *data) { delete static_cast<Work *>(data); });
  return result ? refuse(ExecutionFailed, "the driver gave code " + std::to_string(result)) : Success;
}

template <class T> int make(T **result) {
  if (!result)
    return refuse(BadParam, "nowhere to put a descriptor");
  *result = new T;
  return Success;
}

template <class T> int drop(T *descriptor) {
  delete descriptor;
  return Success;
}

} // namespace

CLEAVE_EMULATED_API size_t cudnnGetVersion() { return numberOf("CLEAVE_EMULATED_CUDNN_VERSION", 91900); }
CLEAVE_EMULATED_API const char *cudnnGetErrorString(int status) {
  return status == Success          ? "CUDNN_STATUS_SUCCESS"
         : status == NotSupported   ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status / 1000 == 2       ? "CUDNN_STATUS_BAD_PARAM"
         : status == NotInitialized ? "CUDNN_STATUS_NOT_INITIALIZED"
                                    : "CUDNN_STATUS_EXECUTION_FAILED";
}
CLEAVE_EMULATED_API void cudnnGetLastErrorString(char *text, size_t size) {
  if (text && size)
    snprintf(text, size, "%s", lastError.c_str());
}
CLEAVE_EMULATED_API int cudnnCreate(Library **handle) {
  return cleave_emulated_has_context() ? make(handle) : refuse(NotInitialized, "no context is current");
}
CLEAVE_EMULATED_API int cudnnDestroy(Library *handle) { return drop(handle); }
CLEAVE_EMULATED_API int cudnnSetStream(Library *handle, void *stream) {
  if (!handle)
    return refuse(BadParam, "no handle");
  handle->stream = stream;
  return Success;
}

CLEAVE_EMULATED_API int cudnnCreateTensorDescriptor(Tensor **tensor) { return make(tensor); }
CLEAVE_EMULATED_API int cudnnDestroyTensorDescriptor(Tensor *tensor) { return drop(tensor); }
CLEAVE_EMULATED_API int cudnnSetTensorNdDescriptor(Tensor *tensor, int type, int dims, const int *sizes,
                                                   const int *strides) {
  if (!tensor || dims < 3 || dims > 8 || !sizes || !strides ||
      std::any_of(sizes, sizes + dims, [](int s) { return s < 1; }))
    return refuse(BadParam, "a tensor has 3 to 8 dimensions, each of one element or more");
  *tensor = {type, {sizes, sizes + dims}, {strides, strides + dims}};
  return Success;
}
CLEAVE_EMULATED_API int cudnnCreateFilterDescriptor(Tensor **filter) { return make(filter); }
CLEAVE_EMULATED_API int cudnnDestroyFilterDescriptor(Tensor *filter) { return drop(filter); }
CLEAVE_EMULATED_API int cudnnSetFilterNdDescriptor(Tensor *filter, int type, int format, int dims, const int *sizes) {
  if (!filter || dims < 3 || dims > 8 || !sizes || std::any_of(sizes, sizes + dims, [](int s) { return s < 1; }))
    return refuse(BadParam, "a filter has 3 to 8 dimensions, each of one element or more");
  if (format != ChannelsFirst)
    return refuse(NotSupported, "filters with channels last are not emulated");
  *filter = {type, {sizes, sizes + dims}, {}};
  return Success;
}

CLEAVE_EMULATED_API int cudnnCreateConvolutionDescriptor(ConvolutionDesc **desc) { return make(desc); }
CLEAVE_EMULATED_API int cudnnDestroyConvolutionDescriptor(ConvolutionDesc *desc) { return drop(desc); }
CLEAVE_EMULATED_API int cudnnSetConvolutionNdDescriptor(ConvolutionDesc *desc, int dims, const int *pad,
                                                        const int *stride, const int *dilation, int mode,
                                                        int computeType) {
  if (!desc || dims < 2 || dims > 3 || !pad || !stride || !dilation)
    return refuse(BadParam, "a convolution has 2 or 3 dimensions");
  for (int i = 0; i < dims; i++)
    if (pad[i] < 0 || stride[i] < 1 || dilation[i] < 1)
      return refuse(BadParam, "paddings are 0 or more, strides and dilations 1 or more");
  desc->pad = {pad, pad + dims};
  desc->stride = {stride, stride + dims};
  desc->dilation = {dilation, dilation + dims};
  desc->mode = mode;
  desc->computeType = computeType;
  return Success;
}
CLEAVE_EMULATED_API int cudnnSetConvolutionGroupCount(ConvolutionDesc *desc, int groups) {
  desc->groups = groups;
  return Success;
}
CLEAVE_EMULATED_API int cudnnSetConvolutionMathType(ConvolutionDesc *desc, int math) {
  if (math < DefaultMath || math > FmaMath)
    return refuse(BadParam, "arithmetic " + std::to_string(math) + " is none of the API's");
  desc->math = math;
  return Success;
}

#define CLEAVE_EMULATED_PASS(pass, choiceName, workspaceName, runName)                                                 \
  CLEAVE_EMULATED_API int choiceName(Library *library, const Tensor *a, const Tensor *b, const ConvolutionDesc *desc,  \
                                     const Tensor *c, int wanted, int *found, Performance *results) {                  \
    return choose(pass, library, a, b, desc, c, wanted, found, results);                                               \
  }                                                                                                                    \
  CLEAVE_EMULATED_API int workspaceName(Library *, const Tensor *a, const Tensor *b, const ConvolutionDesc *desc,      \
                                        const Tensor *c, int number, size_t *bytes) {                                  \
    return workspaceSize(pass, a, b, desc, c, number, bytes);                                                          \
  }                                                                                                                    \
  CLEAVE_EMULATED_API int runName(Library *library, const void *alpha, const Tensor *a, const void *dataA,             \
                                  const Tensor *b, const void *dataB, const ConvolutionDesc *desc, int number,         \
                                  void *workspace, size_t bytes, const void *beta, const Tensor *c, void *dataC) {     \
    return run(pass, #runName, library, alpha, a, dataA, b, dataB, desc, number, workspace, bytes, beta, c, dataC);    \
  }

CLEAVE_EMULATED_PASS(Pass::Forward, cudnnGetConvolutionForwardAlgorithm_v7, cudnnGetConvolutionForwardWorkspaceSize,
                     cudnnConvolutionForward)
CLEAVE_EMULATED_PASS(Pass::InputGrad, cudnnGetConvolutionBackwardDataAlgorithm_v7,
                     cudnnGetConvolutionBackwardDataWorkspaceSize, cudnnConvolutionBackwardData)
CLEAVE_EMULATED_PASS(Pass::WeightGrad, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                     cudnnGetConvolutionBackwardFilterWorkspaceSize, cudnnConvolutionBackwardFilter)
