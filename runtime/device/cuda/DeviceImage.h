// What a program carries for a GPU, in one piece (cleave_model.device_image): the PTX of the model's kernels, and
// machine code (cubins) that ptxas has made of PTX when the model was compiled, where there was a ptxas.
//
//   DeviceImageWriter writer(ptx);                            // the compiler
//   writer.add({"sm_90", ptx, cubin});
//   code.deviceImage = writer.finish();
//
//   DeviceImage image;                                        // the program
//   CLEAVE_TRY(DeviceImage::open({model.device_image, model.device_image_size}, &image));
//   std::string_view code = image.codeFor(image.ptx(), 9, 0); // empty: the driver is to compile the text
//
// Machine code is found by the text that it was made of. So a program takes code of Cleave's own kernels
// (kernels/common/cuda/CudaKernel.h) only where its runtime has the very text that the compiler had.
//
// Head, table and parts have checksums (CRC-32C). A checksum tells damage, not malice: no size or offset of the image
// is used before it is known to stay within the bytes that there are. All numbers are little-endian, as is every
// processor that Cleave runs on.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_DEVICEIMAGE_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_DEVICEIMAGE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// Whether a GPU runs machine code for `chip`: "sm_86" on 8.6 and 8.9, "sm_90a" on 9.0 alone.
bool runsMachineCode(std::string_view chip, int major, int minor);

class DeviceImageWriter {
public:
  struct Code {
    std::string chip;
    std::string_view source; // the PTX that it was made of
    std::string cubin;
  };
  explicit DeviceImageWriter(std::string ptx) : ptx_(std::move(ptx)) {}
  void add(Code code) { codes_.push_back(std::move(code)); }
  // The same bytes for the same parts in the same order.
  std::string finish() const;

private:
  std::string ptx_;
  std::vector<Code> codes_;
};

// A view: the bytes stay where they are.
class DeviceImage {
public:
  // An error where the bytes are not all of an image, or are damaged.
  static Status open(std::string_view bytes, DeviceImage *result);
  // Ended by NUL.
  const char *ptx() const { return ptx_; }
  // Made of `source`, for a GPU of this compute capability; empty where there is none.
  std::string_view codeFor(std::string_view source, int major, int minor) const;

private:
  struct Code {
    std::string chip;
    uint64_t sourceBytes;
    uint32_t sourceChecksum;
    std::string_view cubin;
  };
  const char *ptx_ = "";
  std::vector<Code> codes_;
};

} // namespace cleave::rt

#endif
