// Keeps the choice of an algorithm of cuBLASLt for each product of a program, and of cuDNN for each convolution, in a
// file next to the program.
//
// Each algorithm adds in its own order. The library's estimate of the fastest one may change with any new version, and
// then the last bits of sums change. So the choice is made once for each product, and kept for each device and version
// of the library. A program that starts again computes the same bits. Each library has its own object `Algorithms`;
// both use one file:
//
//   cleave-algorithms 1
//   on cuBLASLt 130100, sm_90, NVIDIA H100 80GB HBM3
//   6c74...00 matmul dtype=0 m=64 ... workspace=32768        the 64 bytes of an algorithm, and its product
//   on cuDNN 91900, sm_90, NVIDIA H100 80GB HBM3
//   checksum 1b2c3d4e                                        of all lines before it
//
// The file is PROGRAM.algorithms (for a shared library, LIBRARY.algorithms), or the one that CLEAVE_CUDA_ALGORITHMS
// names. The value `none` means that there is no file. The file has a part for each device and version that the program
// has run on.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_ALGORITHMS_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_ALGORITHMS_H

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cleave::rt {

class Algorithms {
public:
  using Algorithm = std::array<uint64_t, 8>; // cublasLtMatmulAlgo_t; for cuDNN see CudaConvolution.cpp

  // Reads the file if it exists. `part` is the library, its version and the device. Notes are shown only if `rank` is
  // 0. Fails if the file is damaged.
  static Status open(const std::string &part, int rank, Algorithms *result);

  // Returns null if no algorithm was chosen for the product.
  const Algorithm *find(const std::string &product) const;
  void add(const std::string &product, const Algorithm &algorithm);
  // Adds the new choices to the file. It keeps those that other processes have stored meanwhile. If the file cannot be
  // written, a note says so.
  void save();
  const std::string &path() const { return path_; }
  // "cuBLASLt"
  std::string library() const { return part_.substr(0, part_.find(' ')); }
  // True if this rank shows notes.
  bool tells() const { return rank_ == 0; }

  // Part -> product -> algorithm.
  using Parts = std::map<std::string, std::map<std::string, Algorithm>>;
  static std::string format(const Parts &parts);
  // If the text has the format of another version of Cleave, returns that format in `*otherFormat` and no parts.
  static Status parse(std::string_view text, Parts *parts, std::string *otherFormat);

private:
  Status write();
  void note(const std::string &text) const;

  std::string path_, part_; // an empty path: nothing is stored
  int rank_ = 0;
  Parts parts_;
  std::map<std::string, Algorithm> added_;
};

} // namespace cleave::rt

#endif
