// Which algorithm of cuBLASLt computes which product of a program, and which one of cuDNN which convolution, in a file
// beside it.
//
// An algorithm adds in an order of its own, and the library's estimate of the fastest is its own affair: it may name
// another one tomorrow, and the last bits of sums are others then. So the choice is made once for each product and
// kept, by device and version of the library: a program that starts again computes the same bits. Each library has an
// `Algorithms` of its own, all of one file.
//
//   cleave-algorithms 1
//   on cuBLASLt 130100, sm_90, NVIDIA H100 80GB HBM3
//   6c74...00 matmul dtype=0 m=64 ... workspace=32768        the 64 bytes of an algorithm, and what it computes
//   on cuDNN 91900, sm_90, NVIDIA H100 80GB HBM3
//   checksum 1b2c3d4e                                        of all lines before
//
// The file is PROGRAM.algorithms (of a shared library: LIBRARY.algorithms), or what CLEAVE_CUDA_ALGORITHMS names;
// `none`: there is no file. It has a part for each device and version that the program has run on.
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
  using Algorithm = std::array<uint64_t, 8>; // cublasLtMatmulAlgo_t; of cuDNN see CudaConvolution.cpp

  // Reads the file where there is one. `part` is the library, its version and the device, `rank` whose notes are shown. A
  // damaged file is an error.
  static Status open(const std::string &part, int rank, Algorithms *result);

  // Null where none was chosen for the product.
  const Algorithm *find(const std::string &product) const;
  void add(const std::string &product, const Algorithm &algorithm);
  // Adds to the file what was chosen since; what other processes have stored meanwhile stays. A file that cannot be
  // written is a note.
  void save();
  const std::string &path() const { return path_; }
  // "cuBLASLt"
  std::string library() const { return part_.substr(0, part_.find(' ')); }
  // Whether this rank's notes are shown.
  bool tells() const { return rank_ == 0; }

  // Part -> product -> algorithm.
  using Parts = std::map<std::string, std::map<std::string, Algorithm>>;
  static std::string format(const Parts &parts);
  // Of text in the format of another version of Cleave: that format, and no parts.
  static Status parse(std::string_view text, Parts *parts, std::string *otherFormat);

private:
  Status write();
  void note(const std::string &text) const;

  std::string path_, part_; // no path: nothing is stored
  int rank_ = 0;
  Parts parts_;
  std::map<std::string, Algorithm> added_;
};

} // namespace cleave::rt

#endif
