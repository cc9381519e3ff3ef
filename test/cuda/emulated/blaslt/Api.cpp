// The entry points of cuBLASLt.
//
// The heuristics return the algorithms whose workspace fits, the one with the largest workspace first. So a test finds
// a caller that gives the product less workspace than it asked about. If the preference allows it, which is the
// default, partial sums are rounded to the type of the result. So a test finds a caller that forgets to forbid this,
// too. Each algorithm adds in another order, and a product without an algorithm takes any of them. So a caller that
// needs the same bits again has to store the algorithm.
#include "test/cuda/emulated/blaslt/Problem.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

using namespace cleave::emulated::blaslt;

#define CLEAVE_EMULATED_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint64_t kWorkspaces[] = {4 << 20, 1 << 20, 64 << 10, 0}; // of algorithms 3, 2, 1, 0
struct Library {
  int unused = 0;
};

template <class T> bool take(T &to, const void *value, size_t size) {
  if (size != sizeof(T))
    return false;
  memcpy(&to, value, sizeof(T));
  return true;
}

// Of the allowed schemes, the one that rounds most.
uint32_t reductionOf(uint32_t allowed) {
  for (uint32_t scheme : {ReductionOutputType, ReductionInPlace, ReductionComputeType})
    if (allowed & scheme)
      return scheme;
  return ReductionNone;
}

Algorithm makeAlgorithm(uint32_t id, uint64_t workspace, const Preference &preference, const Problem &p) {
  Algorithm a{};
  a.magic = kAlgorithmMagic;
  a.id = id;
  a.workspace = workspace;
  for (int i = 0; i < 4; i++)
    a.alignment[i] = preference.alignment[i];
  a.reduction = id ? reductionOf(preference.reductions) : ReductionNone;
  const int32_t types[] = {p.desc.computeType, p.a.type, p.b.type, p.d.type};
  memcpy(a.types, types, sizeof types);
  return a;
}

double scalar(const void *p, int type) {
  double d = 0;
  float f = 0;
  if (type == R_64F)
    memcpy(&d, p, 8);
  else
    memcpy(&f, p, 4);
  return type == R_64F ? d : double(f);
}

int refuse(int status, const std::string &why) {
  fprintf(stderr, "emulated cuBLASLt: %s\n", why.c_str());
  return status;
}

struct Work {
  Problem problem;
  Operands operands;
  Algorithm algorithm;
};

int checkAlgorithm(const Algorithm &a, const Problem &p, const Operands &o) {
  const int32_t types[] = {p.desc.computeType, p.a.type, p.b.type, p.d.type};
  if (a.magic != kAlgorithmMagic || memcmp(a.types, types, sizeof types) != 0)
    return refuse(NotSupported, "the algorithm was not made for this problem");
  if (a.id ? reductionOf(a.reduction) != a.reduction || !a.reduction : a.reduction != ReductionNone)
    return refuse(InvalidValue, "the algorithm has no scheme by which parts of a sum are added");
  if (a.workspace > o.workspaceBytes || (a.workspace && !o.workspace))
    return refuse(InvalidValue, "the algorithm needs a workspace of " + std::to_string(a.workspace) +
                                    " bytes, and gets " + std::to_string(o.workspaceBytes));
  const uint64_t addresses[] = {o.a, o.b, o.c, o.d};
  for (int i = 0; i < 4; i++)
    if (a.alignment[i] && addresses[i] % a.alignment[i])
      return refuse(InvalidValue, std::string("matrix ") + "ABCD"[i] + " is not aligned to the " +
                                      std::to_string(a.alignment[i]) + " bytes that the heuristics were promised");
  return a.workspace && o.workspace % 256 ? refuse(InvalidValue, "the workspace is not aligned to 256 bytes") : Success;
}

} // namespace

CLEAVE_EMULATED_API int cublasLtCreate(Library **handle) {
  if (!cleave_emulated_has_context())
    return NotInitialized;
  *handle = new Library;
  return Success;
}
CLEAVE_EMULATED_API int cublasLtDestroy(Library *handle) {
  delete handle;
  return Success;
}

// CLEAVE_EMULATED_BLASLT_VERSION=130100: the version of the library. CLEAVE_EMULATED_BLASLT_FIRST=N: the heuristics
// return their Nth algorithm (from 0) first, as they might on another machine. CLEAVE_EMULATED_BLASLT_WITHOUT=N: they
// return no algorithm for epilogues with one of these bits.
static uint64_t numberOf(const char *name, uint64_t fallback) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 0) : fallback;
}

CLEAVE_EMULATED_API size_t cublasLtGetVersion() { return numberOf("CLEAVE_EMULATED_BLASLT_VERSION", 130100); }

CLEAVE_EMULATED_API const char *cublasLtGetStatusString(int status) {
  return status == Success          ? "success"
         : status == NotInitialized ? "the library was not initialized"
         : status == InvalidValue   ? "an unsupported value or parameter was passed to the function"
         : status == NotSupported   ? "the functionality requested is not supported"
                                    : "an error";
}

CLEAVE_EMULATED_API int cublasLtMatmulDescCreate(Desc **desc, int computeType, int scaleType) {
  *desc = new Desc;
  (*desc)->computeType = computeType;
  (*desc)->scaleType = scaleType;
  return Success;
}
CLEAVE_EMULATED_API int cublasLtMatmulDescDestroy(Desc *desc) {
  delete desc;
  return Success;
}

CLEAVE_EMULATED_API int cublasLtMatmulDescSetAttribute(Desc *desc, int attribute, const void *value, size_t size) {
  auto set = [&](auto &member) { return take(member, value, size) ? Success : InvalidValue; };
  switch (attribute) {
  case DescComputeType:
    return set(desc->computeType);
  case DescScaleType:
    return set(desc->scaleType);
  case DescPointerMode:
    return set(desc->pointerMode);
  case DescTransA:
    return set(desc->transA);
  case DescTransB:
    return set(desc->transB);
  case DescTransC:
    return set(desc->transC);
  case DescEpilogue:
    return set(desc->epilogue);
  case DescBiasPointer:
    return set(desc->bias);
  case DescBiasBatchStride:
    return set(desc->biasBatchStride);
  case DescAuxPointer:
    return set(desc->aux);
  case DescAuxLd:
    return set(desc->auxLd);
  case DescAuxBatchStride:
    return set(desc->auxBatchStride);
  case DescSmCountTarget:
    return set(desc->smCount);
  case DescAuxDataType:
    return set(desc->auxType);
  case DescBiasDataType:
    return set(desc->biasType);
  default:
    return refuse(NotSupported, "attribute " + std::to_string(attribute) + " of a product is not emulated");
  }
}

CLEAVE_EMULATED_API int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t cols,
                                                   int64_t ld) {
  auto *l = new Layout;
  l->type = type;
  l->rows = rows;
  l->cols = cols;
  l->ld = ld;
  *layout = l;
  return Success;
}
CLEAVE_EMULATED_API int cublasLtMatrixLayoutDestroy(Layout *layout) {
  delete layout;
  return Success;
}

CLEAVE_EMULATED_API int cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute, const void *value,
                                                         size_t size) {
  auto set = [&](auto &member) { return take(member, value, size) ? Success : InvalidValue; };
  switch (attribute) {
  case LayoutType:
    return set(layout->type);
  case LayoutOrder:
    return set(layout->order);
  case LayoutRows:
    return set(layout->rows);
  case LayoutCols:
    return set(layout->cols);
  case LayoutLd:
    return set(layout->ld);
  case LayoutBatchCount:
    return set(layout->batchCount);
  case LayoutBatchStride:
    return set(layout->batchStride);
  default:
    return refuse(NotSupported, "attribute " + std::to_string(attribute) + " of a layout is not emulated");
  }
}

CLEAVE_EMULATED_API int cublasLtMatmulPreferenceCreate(Preference **preference) {
  *preference = new Preference;
  return Success;
}
CLEAVE_EMULATED_API int cublasLtMatmulPreferenceDestroy(Preference *preference) {
  delete preference;
  return Success;
}

CLEAVE_EMULATED_API int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value,
                                                             size_t size) {
  auto set = [&](auto &member) { return take(member, value, size) ? Success : InvalidValue; };
  if (attribute == PreferenceWorkspace)
    return set(preference->workspace);
  if (attribute >= PreferenceAlignmentA && attribute <= PreferenceAlignmentD)
    return set(preference->alignment[attribute - PreferenceAlignmentA]);
  if (attribute == PreferenceReduction)
    return set(preference->reductions) == Success && preference->reductions <= ReductionAll ? Success : InvalidValue;
  if (attribute == PreferenceSearchMode || attribute == PreferenceWaves)
    return size == 4 ? Success : InvalidValue; // no effect on what is emulated
  return refuse(NotSupported, "attribute " + std::to_string(attribute) + " of a preference is not emulated");
}

CLEAVE_EMULATED_API int cublasLtMatmulAlgoGetHeuristic(Library *library, const Desc *desc, const Layout *a,
                                                       const Layout *b, const Layout *c, const Layout *d,
                                                       const Preference *preference, int wanted,
                                                       HeuristicResult *results, int *count) {
  if (!library || !desc || !a || !b || !c || !d || !preference || wanted < 1 || !results || !count)
    return InvalidValue;
  *count = 0;
  Problem p;
  std::string why;
  if (int status = makeProblem(*desc, *a, *b, *c, *d, p, why))
    return refuse(status, why);
  if (p.desc.epilogue & numberOf("CLEAVE_EMULATED_BLASLT_WITHOUT", 0))
    return NotSupported;
  std::vector<uint32_t> fitting;
  for (uint32_t i = 0; i < 4; i++)
    if (kWorkspaces[i] <= preference->workspace && (i == 3 || preference->reductions != ReductionNone))
      fitting.push_back(i);
  auto first = fitting.begin() + long(numberOf("CLEAVE_EMULATED_BLASLT_FIRST", 0) % fitting.size());
  std::rotate(fitting.begin(), first, first + 1); // that algorithm, and then the others in their order
  for (uint32_t i : fitting) {
    if (*count == wanted)
      break;
    HeuristicResult &r = results[(*count)++];
    r = {};
    r.algorithm = makeAlgorithm(3 - i, kWorkspaces[i], *preference, p);
    r.workspace = kWorkspaces[i];
    r.state = Success;
    r.waves = 1;
  }
  return Success; // there is at least one: an algorithm without workspace always fits
}

CLEAVE_EMULATED_API int cublasLtMatmulAlgoCheck(Library *library, const Desc *desc, const Layout *a, const Layout *b,
                                                const Layout *c, const Layout *d, const Algorithm *algorithm,
                                                HeuristicResult *result) {
  if (!library || !desc || !a || !b || !c || !d || !algorithm || !result)
    return InvalidValue;
  Problem p;
  std::string why;
  if (int status = makeProblem(*desc, *a, *b, *c, *d, p, why))
    return refuse(status, why);
  Operands anywhere; // pointers of 0, which are multiples of any alignment
  anywhere.workspaceBytes = algorithm->workspace;
  anywhere.workspace = 256;
  if (int status = checkAlgorithm(*algorithm, p, anywhere))
    return status;
  result->workspace = algorithm->workspace;
  result->state = Success;
  result->waves = 1;
  return Success;
}

CLEAVE_EMULATED_API int cublasLtMatmul(Library *library, const Desc *desc, const void *alpha, const void *a,
                                       const Layout *layoutA, const void *b, const Layout *layoutB, const void *beta,
                                       const void *c, const Layout *layoutC, void *d, const Layout *layoutD,
                                       const Algorithm *algorithm, void *workspace, size_t workspaceBytes,
                                       void *stream) {
  static std::atomic<uint32_t> calls{0};
  if (!library || !desc || !alpha || !beta || !a || !b || !d || !layoutA || !layoutB || !layoutC || !layoutD)
    return InvalidValue;
  auto work = std::make_unique<Work>();
  std::string why;
  if (int status = makeProblem(*desc, *layoutA, *layoutB, *layoutC, *layoutD, work->problem, why))
    return refuse(status, why);
  if (desc->bias && !usesBias(desc->epilogue))
    return refuse(InvalidValue, "a bias pointer is given, but the epilogue does not use it");
  Operands &o = work->operands;
  auto address = [](const void *p) { return reinterpret_cast<uint64_t>(p); };
  o.a = address(a);
  o.b = address(b);
  o.c = address(c);
  o.d = address(d);
  o.workspace = address(workspace);
  o.workspaceBytes = workspaceBytes;
  if (desc->pointerMode == 0) {
    o.alpha = scalar(alpha, desc->scaleType);
    o.beta = scalar(beta, desc->scaleType);
  } else {
    o.alphaPointer = address(alpha);
    o.betaPointer = address(beta);
  }
  Preference any;
  std::fill(std::begin(any.alignment), std::end(any.alignment), 0);
  work->algorithm = algorithm ? *algorithm : makeAlgorithm(calls++ % 4, 0, any, work->problem);
  if (int status = checkAlgorithm(work->algorithm, work->problem, o))
    return status;
  int result = cleave_emulated_enqueue(
      stream, "cublasLtMatmul",
      [](void *data, const cleave_emulated_memory *memory) {
        auto *w = static_cast<Work *>(data);
        compute(w->problem, w->operands, w->algorithm, *memory);
      },
      work.release(), [](void *data) { delete static_cast<Work *>(data); });
  return result ? ExecutionFailed : Success;
}
