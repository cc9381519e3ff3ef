#include "kernels/attention/host/Attention.h"
#include "kernels/common/host/Types.h"

#include <cmath>
#include <cstring>

namespace cleave::rt {

static double numberOf(int64_t bits) {
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

Status AttentionShape::read(const KernelArgs &args, AttentionShape *result) {
  AttentionShape &s = *result;
  s.batch = args["batch"], s.heads = args["heads"], s.rows = args["rows"], s.columns = args["columns"];
  s.depth = args["depth"], s.width = args["width"];
  s.causal = args["causal"] != 0;
  s.scale = numberOf(args["scale"]);
  s.dtype = args.dtype(), s.sumDtype = args.dtype("sum_dtype");
  fb::DType computed = s.dtype == fb::DType::f64 ? fb::DType::f64 : fb::DType::f32;
  if (s.sumDtype != computed)
    return invalidArgument(std::string("expected statistics of type ") + fb::EnumNameDType(computed) +
                           "; got: " + fb::EnumNameDType(s.sumDtype));
  for (int64_t side : {s.rows, s.columns})
    for (int64_t size : {s.depth, s.width})
      CLEAVE_TRY(checkPositiveSizes({s.batch, s.heads, side, size}));
  CLEAVE_TRY(s.readMask(args, computed));
  return s.readDropout(args);
}

Status AttentionShape::readMask(const KernelArgs &args, fb::DType computed) {
  hasMask = args.def().findBuffer("mask").has_value();
  if (!hasMask)
    return Status::ok();
  maskDtype = args.dtype("mask_dtype");
  if (maskDtype != fb::DType::boolean && maskDtype != computed)
    return invalidArgument(std::string("expected a mask of type boolean or ") + fb::EnumNameDType(computed) +
                           "; got: " + fb::EnumNameDType(maskDtype));
  fill = numberOf(args["fill"]);
  mask[0] = args["mask_batch"], mask[1] = args["mask_heads"];
  mask[2] = args["mask_rows"], mask[3] = args["mask_columns"];
  return checkPositiveSizes({mask[0], mask[1], mask[2], mask[3]});
}

// The unfused graph compares uniform numbers, which are multiples of 2^-24, with the rate as f32. For whole numbers,
// the threshold is the first multiple that is not below the rate.
Status AttentionShape::readDropout(const KernelArgs &args) {
  hasDropout = args.def().findBuffer("first").has_value();
  if (!hasDropout)
    return Status::ok();
  rate = numberOf(args["rate"]);
  if (!(rate > 0 && rate < 1))
    return invalidArgument("expected a rate of dropout above 0 and below 1; got: " + std::to_string(rate));
  dropThreshold = static_cast<int64_t>(std::ceil(static_cast<double>(static_cast<float>(rate)) * 0x1p24));
  return Status::ok();
}

void AttentionShape::addBufferBytes(std::vector<size_t> *bytes) const {
  if (hasMask)
    bytes->push_back(static_cast<size_t>(mask[0] * mask[1] * mask[2] * mask[3]) * dtypeSize(maskDtype));
  if (hasDropout)
    bytes->insert(bytes->end(), {8, 8, static_cast<size_t>(items()) * 8});
}

int64_t AttentionShape::maskOffset(int64_t item) const {
  int64_t sample = mask[0] == 1 ? 0 : item / heads, head = mask[1] == 1 ? 0 : item % heads;
  return (sample * mask[1] + head) * mask[2] * mask[3];
}

} // namespace cleave::rt
