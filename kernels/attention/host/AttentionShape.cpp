#include "kernels/attention/host/Attention.h"
#include "kernels/common/host/Types.h"

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
  size_t unused = 0;
  for (int64_t side : {s.rows, s.columns})
    for (int64_t size : {s.depth, s.width})
      CLEAVE_TRY(countElements({s.batch, s.heads, side, size}, &unused));
  s.hasMask = args.def().findBuffer("mask").has_value();
  if (!s.hasMask)
    return Status::ok();
  s.maskDtype = args.dtype("mask_dtype");
  if (s.maskDtype != fb::DType::boolean && s.maskDtype != computed)
    return invalidArgument(std::string("expected a mask of type boolean or ") + fb::EnumNameDType(computed) +
                           "; got: " + fb::EnumNameDType(s.maskDtype));
  s.fill = numberOf(args["fill"]);
  const char *names[] = {"mask_batch", "mask_heads", "mask_rows", "mask_columns"};
  const int64_t sizes[] = {s.batch, s.heads, s.rows, s.columns};
  for (int d = 0; d < 4; ++d) {
    s.mask[d] = args[names[d]];
    if (s.mask[d] != 1 && s.mask[d] != sizes[d])
      return invalidArgument(std::string("expected ") + names[d] + " of 1 or " + std::to_string(sizes[d]) +
                             "; got: " + std::to_string(s.mask[d]));
  }
  return countElements({s.mask[0], s.mask[1], s.mask[2], s.mask[3]}, &unused);
}

int64_t AttentionShape::maskOffset(int64_t item) const {
  int64_t sample = mask[0] == 1 ? 0 : item / heads, head = mask[1] == 1 ? 0 : item % heads;
  return (sample * mask[1] + head) * mask[2] * mask[3];
}

} // namespace cleave::rt
