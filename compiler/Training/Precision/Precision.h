// The floating-point types in which a model is kept, computed and reduced: --precision and --loss-scale.
//
//   --precision bf16                         parameters and gradients in bf16
//   --precision param=bf16,reduce=f32        bf16 in forward and backward pass, f32 where gradients are summed
//   --precision param=fp16,buffer=fp16 --loss-scale dynamic,init=1024
//
// The parts are independent of each other (MixedPrecision of PyTorch's FSDP has the same three):
//   param    parameters, the operands of products, and activations that are kept; default: as in the model. Frozen
//            parameters are stored exactly as in the model, and are rounded where they are used
//   reduce   gradients of a micro-batch, and the collectives that sum them over ranks; default: the parameter's type.
//            Gradients of several micro-batches are added in f32 at least, as PyTorch adds them in the type of the f32
//            parameter. If the sum is what ranks reduce (--grad-sync last), the collective has its type
//   buffer   running statistics; default: as in the model
// Values that are not kept are computed in f32 with every type (ApplyPrecision.cpp).
#ifndef CLEAVE_COMPILER_TRAINING_PRECISION_PRECISION_H
#define CLEAVE_COMPILER_TRAINING_PRECISION_PRECISION_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace cleave {

enum class FloatKind { F32, BF16, F16 };

struct PrecisionOptions {
  std::optional<FloatKind> param, reduce, buffer;

  bool isEmpty() const { return !param && !reduce && !buffer; }
  bool narrowsParameters() const { return param && *param != FloatKind::F32; }
};

// Parses one type, or PART=TYPE[,PART=TYPE...]. An empty text sets nothing.
llvm::Expected<PrecisionOptions> parsePrecision(llvm::StringRef text);
std::string printPrecision(const PrecisionOptions &options);
// "f32", "bf16", "fp16".
llvm::StringRef floatName(FloatKind kind);
std::optional<FloatKind> floatKind(mlir::Type type);
mlir::FloatType floatType(mlir::MLIRContext *context, FloatKind kind);

// The factor on the loss that keeps fp16 gradients from vanishing, with torch.amp.GradScaler's defaults.
struct LossScaleOptions {
  enum class Mode { Auto, None, Fixed, Dynamic }; // Auto: dynamic if parameters or gradients are fp16
  Mode mode = Mode::Auto;
  double init = 65536;  // the first scale of Dynamic, the only one of Fixed
  double growth = 2;    // after `interval` steps without overflow
  double backoff = 0.5; // after a step with overflow
  int64_t interval = 2000;
};

// Parses dynamic[,init=N,growth=N,backoff=N,interval=N] | a number | none | auto.
llvm::Expected<LossScaleOptions> parseLossScale(llvm::StringRef text);
std::string printLossScale(const LossScaleOptions &options);

} // namespace cleave

#endif
