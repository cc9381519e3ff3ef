#include "kernels/common/host/Window.h"

namespace cleave::rt {

static Status readDims(const KernelArgs &args, const char *name, int64_t least, Window::Dims *dims) {
  const std::vector<int64_t> &values = args.list(name);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < least || values[i] > int64_t{1} << 31)
      return invalidArgument(std::string(name) + " must be at least " + std::to_string(least) +
                             "; got: " + std::to_string(values[i]));
    (*dims)[3 - values.size() + i] = values[i];
  }
  return Status::ok();
}

Status Window::read(const KernelArgs &args, Window *result) {
  if (args["rank"] > 3)
    return invalidArgument("windows have at most 3 spatial dimensions; got: " + std::to_string(args["rank"]));
  CLEAVE_TRY(readDims(args, "in", 1, &result->in));
  CLEAVE_TRY(readDims(args, "out", 1, &result->out));
  CLEAVE_TRY(readDims(args, "kernel", 1, &result->kernel));
  CLEAVE_TRY(readDims(args, "stride", 1, &result->stride));
  CLEAVE_TRY(readDims(args, "dilation", 1, &result->dilation));
  CLEAVE_TRY(readDims(args, "pad_low", 0, &result->padLow));
  CLEAVE_TRY(readDims(args, "pad_high", 0, &result->padHigh));
  CLEAVE_TRY(checkPositiveSizes({result->in[0], result->in[1], result->in[2]}));
  CLEAVE_TRY(checkPositiveSizes({result->out[0], result->out[1], result->out[2]}));
  return checkPositiveSizes({result->kernel[0], result->kernel[1], result->kernel[2]});
}

} // namespace cleave::rt
