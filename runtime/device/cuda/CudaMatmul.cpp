// CudaDevice: products by cuBLASLt.
//
// A row-major matrix is the transpose of a column-major one. So c = op(a) op(b) is computed as c' = op(b)' op(a)', and
// the library's first operand is Cleave's b.
//
// The algorithm is chosen when the plan is bound for the first time, by the library's own estimate. It must need no
// more than the planned workspace, and if it splits sums, it must add the parts in the compute type. Other algorithms
// round each part to the type of the result, in which a part may overflow although the sum does not. The choice is kept
// in a file (Algorithms.h), so runs on one device and library version compute the same bits.
//
// A bias has one number for each column of c, which is a row of c'. The library's epilogue adds it before it rounds.
// The gradient of a bias is the sums over k of Cleave's b or a, which are the library's A or B. The library computes it
// only for some products. If it proposes no algorithm, it computes a plain product, and a kernel of Cleave adds the
// columns (columnSums).
//
// The library may move a bias 16 bytes at a time, and cannot be told that its address permits less. So a bias that is a
// view at another address is copied to the end of the workspace first, and the gradient of such a bias is added by the
// kernel of Cleave.
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Workspace.h"

#include "runtime/plan/KernelDefs.h"

#include <algorithm>
#include <optional>

namespace cleave::rt {

using cuda::BlasLt;
using cuda::checkBlas;
using cuda::Handle;

namespace {

// The numbers of library_types.h and cublasLt.h that Cleave uses.
constexpr int kReal32 = 0, kReal64 = 1, kReal16 = 2, kBrain16 = 14;
constexpr int kCompute32 = 68, kCompute64 = 70; // full precision: no TF32
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
// Values of kEpilogue. kGradientOfA means the library's A, which is Cleave's b.
constexpr uint32_t kPlain = 1, kAddBias = 4, kGradientOfA = 256, kGradientOfB = 512;
constexpr int kBatchCount = 5, kBatchStride = 6;
constexpr int kWorkspaceBytes = 1, kReductionSchemes = 3, kAlignmentA = 5;
constexpr uint64_t kBiasAlignment = 16; // in bytes: of the addresses that epilogues get
constexpr uint32_t kInComputeType = 2; // for parts of a long sum; other schemes round each part to the result's type
constexpr int kNotSupported = 15;

// cublasLtMatmulHeuristicResult_t.
struct Choice {
  Algorithms::Algorithm algorithm;
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

int typeOf(fb::DType type) {
  return type == fb::DType::f64    ? kReal64
         : type == fb::DType::f16  ? kReal16
         : type == fb::DType::bf16 ? kBrain16
                                   : kReal32;
}

// The sizes of a kernel's products.
struct Products {
  int64_t batch = 1, batchA = 1, batchB = 1, m, n, k;
  bool transposeA = true, transposeB = false; // the values of a kernel without these parameters

  explicit Products(const KernelArgs &args) : m(args["m"]), n(args["n"]), k(args["k"]) {
    if (args["batch"] == 0)
      return;
    batch = args["batch"], batchA = args["batch_a"], batchB = args["batch_b"];
    transposeA = args["transpose_a"] != 0, transposeB = args["transpose_b"] != 0;
  }
};

uint32_t epilogueOf(const KernelDef &def) {
  if (def.findBuffer("bias"))
    return kAddBias;
  if (!def.findBuffer("bias_grad"))
    return kPlain;
  return def.name == "matmul_bias_grad_a" ? kGradientOfB : kGradientOfA;
}

bool isGradient(uint32_t epilogue) { return epilogue == kGradientOfA || epilogue == kGradientOfB; }

// Returns the largest power of two, up to 256, that divides the addresses of all frames.
uint32_t alignmentOf(const Address &address) {
  uint64_t bits = reinterpret_cast<uint64_t>(address.base) | (address.frames > 1 ? address.stride : 0) | 256;
  return static_cast<uint32_t>(bits & -bits);
}

// A column-major matrix of one batch.
struct Matrix {
  int type;
  uint64_t rows, columns;
  int64_t stride; // elements from one batch to the next
};

class MatmulAction : public Action {
public:
  MatmulAction(const BlasLt &blas, const cuda::Driver &driver, Handle handle, Handle stream,
               const std::vector<Address> &operands, const KernelArgs &args)
      : blas_(blas), driver_(driver), handle_(handle), stream_(stream), a_(operands[0]), b_(operands[1]),
        c_(operands[*args.def().findBuffer("c")]), workspace_(operands.back()), workspaceBytes_(workspace_.bytes()),
        epilogue_(epilogueOf(args.def())), isDouble_(args.dtype() == fb::DType::f64) {
    for (const char *name : {"bias", "bias_grad"})
      if (std::optional<size_t> bias = args.def().findBuffer(name))
        bias_ = operands[*bias];
  }
  ~MatmulAction() override {
    if (desc_)
      blas_.descDestroy(desc_);
    for (Handle layout : layouts_)
      if (layout)
        blas_.layoutDestroy(layout);
  }

  Status setUp(const KernelArgs &args, Algorithms &algorithms);
  // True if a kernel of Cleave must add the columns (`sums`), because the library does not.
  bool needsSums() const { return needsSums_; }
  void setSums(ActionPtr sums) { sums_ = std::move(sums); }
  Status run(const Frames &frames, uint32_t count) override {
    if (sums_)
      CLEAVE_TRY(sums_->run(frames, count));
    if (bias_ && !needsSums_)
      CLEAVE_TRY(passBias(frames));
    const double one = 1, zero = 0;
    const float oneSingle = 1, zeroSingle = 0;
    const void *alpha = isDouble_ ? static_cast<const void *>(&one) : &oneSingle;
    const void *beta = isDouble_ ? static_cast<const void *>(&zero) : &zeroSingle;
    return checkBlas(blas_.matmul(handle_, desc_, alpha, b_.at(frames), layouts_[0], a_.at(frames), layouts_[1], beta,
                                  c_.at(frames), layouts_[2], c_.at(frames), layouts_[2], choice_.algorithm.data(),
                                  workspace_.at(frames), workspaceBytes_, stream_),
                     "cublasLtMatmul");
  }

private:
  Status addLayout(const Matrix &matrix, int64_t batch, Handle *layout);
  Status setEpilogue(uint32_t epilogue, const void *bias);
  Status setBias(const void *address);
  Status stageBias();
  Status passBias(const Frames &frames);
  // The place at the end of the workspace for a copy of the bias.
  std::byte *stagedBias(const Frames &frames) const {
    return static_cast<std::byte *>(workspace_.at(frames)) + workspaceBytes_;
  }
  Status addLayouts(const KernelArgs &args);
  std::string describe(const KernelArgs &args) const;
  Status use(const KernelArgs &args, const Algorithms &algorithms, const Algorithms::Algorithm &known);
  Status check(const KernelArgs &args, const std::string &path);
  Status choose(bool *found);
  Status setApart();

  const BlasLt &blas_;
  const cuda::Driver &driver_;
  Handle handle_, stream_, desc_ = nullptr, layouts_[3] = {}; // of b, a, c
  Address a_, b_, c_;
  Workspace workspace_;
  uint64_t workspaceBytes_;     // that the library may use
  std::optional<Address> bias_; // or the bias's gradient
  uint32_t epilogue_;
  bool isDouble_, needsSums_ = false, isStaged_ = false;
  ActionPtr sums_;
  Choice choice_ = {};
};

Status MatmulAction::addLayout(const Matrix &matrix, int64_t batch, Handle *layout) {
  CLEAVE_TRY(
      checkBlas(blas_.layoutCreate(layout, matrix.type, matrix.rows, matrix.columns, static_cast<int64_t>(matrix.rows)),
                "cublasLtMatrixLayoutCreate"));
  int32_t count = static_cast<int32_t>(batch);
  CLEAVE_TRY(
      checkBlas(blas_.layoutSet(*layout, kBatchCount, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute"));
  return checkBlas(blas_.layoutSet(*layout, kBatchStride, &matrix.stride, sizeof matrix.stride),
                   "cublasLtMatrixLayoutSetAttribute");
}

Status MatmulAction::addLayouts(const KernelArgs &args) {
  Products p(args);
  int type = typeOf(args.dtype()), out = typeOf(args.dtype("out_dtype"));
  auto matrix = [](int type, int64_t rows, int64_t columns, bool transposed, bool isShared) {
    Matrix result{type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), isShared ? 0 : rows * columns};
    if (transposed)
      std::swap(result.rows, result.columns);
    return result;
  };
  bool isSharedB = p.batchB == 1 && p.batch != 1, isSharedA = p.batchA == 1 && p.batch != 1;
  CLEAVE_TRY(addLayout(matrix(type, p.n, p.k, p.transposeB, isSharedB), p.batch, &layouts_[0]));
  CLEAVE_TRY(addLayout(matrix(type, p.k, p.m, p.transposeA, isSharedA), p.batch, &layouts_[1]));
  return addLayout(matrix(out, p.n, p.m, false, false), p.batch, &layouts_[2]);
}

Status MatmulAction::setUp(const KernelArgs &args, Algorithms &algorithms) {
  Products p(args);
  if (p.batch > INT32_MAX)
    return invalidArgument("cuBLASLt takes at most 2^31 - 1 products at a time; the plan has " + std::to_string(p.batch));
  CLEAVE_TRY(checkBlas(blas_.descCreate(&desc_, isDouble_ ? kCompute64 : kCompute32, isDouble_ ? kReal64 : kReal32),
                       "cublasLtMatmulDescCreate"));
  int32_t transposes[] = {p.transposeB, p.transposeA};
  CLEAVE_TRY(checkBlas(blas_.descSet(desc_, kTransposeA, &transposes[0], 4), "cublasLtMatmulDescSetAttribute"));
  CLEAVE_TRY(checkBlas(blas_.descSet(desc_, kTransposeB, &transposes[1], 4), "cublasLtMatmulDescSetAttribute"));
  CLEAVE_TRY(addLayouts(args));
  bool isAligned = !bias_ || alignmentOf(*bias_) >= kBiasAlignment;
  if (epilogue_ == kAddBias && !isAligned)
    CLEAVE_TRY(stageBias());
  std::string product = describe(args), apart = product + " sums=apart";
  if (isGradient(epilogue_) && (!isAligned || algorithms.find(apart))) {
    CLEAVE_TRY(setApart());
    product = apart;
  } else if (bias_) {
    CLEAVE_TRY(setEpilogue(epilogue_, isStaged_ ? stagedBias({}) : bias_->at({})));
  }
  if (const Algorithms::Algorithm *known = algorithms.find(product))
    return use(args, algorithms, *known);
  bool found = false;
  CLEAVE_TRY(choose(&found));
  if (!found && isGradient(epilogue_) && !needsSums_) {
    CLEAVE_TRY(setApart());
    product = apart;
    CLEAVE_TRY(choose(&found));
  }
  if (!found)
    return invalidArgument("cuBLASLt has no algorithm for a product of m=" + std::to_string(p.m) +
                           " n=" + std::to_string(p.n) + " k=" + std::to_string(p.k) + " in " +
                           fb::EnumNameDType(args.dtype()) + " with a workspace of " +
                           std::to_string(workspaceBytes_) + " bytes");
  algorithms.add(product, choice_.algorithm);
  return Status::ok();
}

Status MatmulAction::use(const KernelArgs &args, const Algorithms &algorithms, const Algorithms::Algorithm &known) {
  choice_.algorithm = known;
  return check(args, algorithms.path());
}

Status MatmulAction::setEpilogue(uint32_t epilogue, const void *bias) {
  CLEAVE_TRY(checkBlas(blas_.descSet(desc_, kEpilogue, &epilogue, sizeof epilogue), "cublasLtMatmulDescSetAttribute"));
  return setBias(bias);
}

// Makes it a plain product. The library refuses a bias pointer that the epilogue does not use.
Status MatmulAction::setApart() {
  needsSums_ = true;
  return setEpilogue(kPlain, nullptr);
}

// Takes the end of the workspace for a copy of the bias (cudaScratchBytes plans enough). What is left for the library
// is a multiple of 256 bytes, so the copy begins at one.
Status MatmulAction::stageBias() {
  uint64_t kept = (bias_->bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  uint64_t whole = workspaceBytes_ / kWorkspaceAlignment * kWorkspaceAlignment;
  if (kept > whole)
    return invalidArgument("the workspace of a product has " + std::to_string(workspaceBytes_) +
                           " bytes, which is too few for a copy of its bias of " + std::to_string(bias_->bytes) +
                           " bytes; compile the model again");
  workspaceBytes_ = whole - kept;
  isStaged_ = true;
  return Status::ok();
}

// Gives the library the bias of these frames: the first one is known since setUp.
Status MatmulAction::passBias(const Frames &frames) {
  std::byte *bias = bias_->at(frames);
  if (!isStaged_)
    return bias_->frames > 1 ? setBias(bias) : Status::ok();
  std::byte *staged = stagedBias(frames);
  CLEAVE_TRY(cuda::check(driver_.copy(reinterpret_cast<cuda::Pointer>(staged), reinterpret_cast<cuda::Pointer>(bias),
                                      bias_->bytes, stream_),
                         "cuMemcpyAsync"));
  return setBias(staged);
}

Status MatmulAction::setBias(const void *address) {
  return checkBlas(blas_.descSet(desc_, kBiasPointer, &address, sizeof address), "cublasLtMatmulDescSetAttribute");
}

// The key of a choice: the product's parameters, the alignments of its memory, and how sums may be added. (Older
// versions of Cleave stored algorithms that round the parts of a sum. Their keys have no `parts=compute`.)
std::string MatmulAction::describe(const KernelArgs &args) const {
  std::string text(args.def().name);
  for (const KernelDef::ParamDef &param : args.def().params)
    text += " " + std::string(param.name) + "=" + std::to_string(args[param.name]);
  for (const Address *address : {&a_, &b_, &c_})
    text += " aligned=" + std::to_string(alignmentOf(*address));
  if (isGradient(epilogue_))
    text += " aligned=" + std::to_string(alignmentOf(*bias_));
  return text + " parts=compute workspace=" + std::to_string(workspaceBytes_);
}

// Asks the library whether a stored algorithm computes this product.
Status MatmulAction::check(const KernelArgs &args, const std::string &path) {
  Choice needs = {}; // its algorithm is not used
  cuda::Result result = blas_.algorithmCheck(handle_, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2],
                                             choice_.algorithm.data(), &needs);
  if (result == 0 && needs.workspaceBytes <= workspaceBytes_)
    return Status::ok();
  return invalidArgument(
      path + " has an algorithm for " + describe(args) + " that cuBLASLt does not take (" +
      (result == 0 ? "it needs a workspace of " + std::to_string(needs.workspaceBytes) + " bytes"
                   : "status " + std::to_string(result)) +
      "); remove the file, and algorithms are chosen anew, or name another one in CLEAVE_CUDA_ALGORITHMS");
}

// Sets `*found` to false if the library has no algorithm.
Status MatmulAction::choose(bool *found) {
  Handle preference = nullptr;
  CLEAVE_TRY(checkBlas(blas_.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  uint64_t workspace = workspaceBytes_;
  cuda::Result result = blas_.preferenceSet(preference, kWorkspaceBytes, &workspace, sizeof workspace);
  if (result == 0)
    result = blas_.preferenceSet(preference, kReductionSchemes, &kInComputeType, sizeof kInComputeType);
  const Address *aligned[] = {&b_, &a_, &c_, &c_};
  for (int i = 0; i < 4 && result == 0; ++i) {
    uint32_t alignment = alignmentOf(*aligned[i]);
    result = blas_.preferenceSet(preference, kAlignmentA + i, &alignment, sizeof alignment);
  }
  int count = 0;
  if (result == 0)
    result = blas_.heuristic(handle_, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference, 1,
                             &choice_, &count);
  blas_.preferenceDestroy(preference);
  *found = result == 0 && count > 0 && choice_.state == 0;
  return result == kNotSupported ? Status::ok() : checkBlas(result, "cublasLtMatmulAlgoGetHeuristic");
}

} // namespace

Status CudaDevice::openBlas() {
  if (blasHandle_)
    return Status::ok();
  CLEAVE_TRY(cuda::openBlasLt(&blas_));
  CLEAVE_TRY(checkBlas(blas_->create(&blasHandle_), "cublasLtCreate, which needs some free memory and no older driver,"));
  std::string part = "cuBLASLt " + std::to_string(blas_->version()) + ", " + deviceName_;
  return Algorithms::open(part, options_.rank, &algorithms_);
}

Status CudaDevice::bindMatmul(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action) {
  CLEAVE_TRY(openBlas());
  Handle stream = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  auto matmul = std::make_unique<MatmulAction>(*blas_, *driver_, blasHandle_, stream, request.operands, args);
  CLEAVE_TRY(matmul->setUp(args, algorithms_));
  if (matmul->needsSums()) {
    ActionPtr sums;
    CLEAVE_TRY(bindColumnSums(request, args, &sums));
    matmul->setSums(std::move(sums));
  }
  *action = std::move(matmul);
  return Status::ok();
}

} // namespace cleave::rt
