// All code for a GPU that a program contains, in one piece (cleave_model.device_image): the PTX of the model's kernels,
// and machine code (cubins). ptxas makes machine code from PTX when the model is compiled, if there is a ptxas.
//
//   DeviceImageWriter writer(ptx);                            // the compiler
//   writer.add({"sm_90", ptx, cubin});
//   code.deviceImage = writer.finish();
//
//   DeviceImage image;                                        // the program
//   CLEAVE_TRY(DeviceImage::open({model.device_image, model.device_image_size}, &image));
//   std::string_view code = image.codeFor(image.ptx(), 9, 0); // empty: the driver must compile the PTX
//
// Machine code is found by the PTX that it was made from. So a program uses machine code of Cleave's own kernels
// (kernels/common/cuda/CudaKernel.h) only if the PTX in its runtime is exactly that of the compiler.
//
// The head, the table and the parts have checksums (CRC-32C). A checksum finds damage, but not malice, so every size
// and offset is checked against the bytes before it is used. All numbers are little-endian, like every processor that
// Cleave runs on.
// processor that Cleave runs on.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_DEVICEIMAGE_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_DEVICEIMAGE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// True if a GPU runs machine code for `chip`: "sm_86" runs on 8.6 and 8.9, "sm_90a" only on 9.0.
bool runsMachineCode(std::string_view chip, int major, int minor);

class DeviceImageWriter {
public:
  struct Code {
    std::string chip;
    std::string_view source; // the PTX that it was made from
    std::string cubin;
  };
  explicit DeviceImageWriter(std::string ptx) : ptx_(std::move(ptx)) {}
  void add(Code code) { codes_.push_back(std::move(code)); }
  // Returns the image. The same parts in the same order give the same bytes.
  std::string finish() const;

private:
  std::string ptx_;
  std::vector<Code> codes_;
};

// A view of an image. The bytes must outlive it.
class DeviceImage {
public:
  // Fails if the bytes are not exactly one image, or are damaged.
  static Status open(std::string_view bytes, DeviceImage *result);
  // The model's PTX. It ends in a NUL.
  const char *ptx() const { return ptx_; }
  // Returns machine code that was made from `source` and runs on a GPU of this compute capability. Empty if there is
  // none.
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
