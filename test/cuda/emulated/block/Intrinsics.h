// The functions that translated code calls: one C function for each operation that needs other threads, checks, or a
// function of the maths library. The translator calls them by name, and the JIT resolves the names from `intrinsics()`.
// Kernels see no other symbols.
//
// All values are passed as integers of their width. Several results are returned through the parameter `out`.
#pragma once
#include <cstdint>
#include <vector>

namespace cleave::emulated {

struct Intrinsic {
  const char *name;
  void *address;
};

const std::vector<Intrinsic> &intrinsics();

// Each family adds its functions. They are called once.
void addThreadIntrinsics(std::vector<Intrinsic> &list);    // ids, memory checks, traps
void addWarpIntrinsics(std::vector<Intrinsic> &list);      // shuffles, votes, barriers
void addCopyIntrinsics(std::vector<Intrinsic> &list);      // cp.async, mbarrier
void addMatrixIntrinsics(std::vector<Intrinsic> &list);    // ldmatrix, stmatrix, mma
void addWarpGroupIntrinsics(std::vector<Intrinsic> &list); // wgmma
void addMathIntrinsics(std::vector<Intrinsic> &list);      // approximations, rounding, reduced types

// Special registers. The number is an argument of the call that reads the register.
enum class Special : uint32_t {
  ThreadX,
  ThreadY,
  ThreadZ,
  BlockSizeX,
  BlockSizeY,
  BlockSizeZ,
  BlockX,
  BlockY,
  BlockZ,
  GridX,
  GridY,
  GridZ,
  Lane,
  Warp,
  WarpCount,
  LaneMaskEqual,
  LaneMaskLess,
  LaneMaskLessEqual,
  LaneMaskGreater,
  LaneMaskGreaterEqual,
  DynamicShared,
  TotalShared
};

enum class ShuffleMode : uint32_t { Up, Down, Xor, Index };
enum class VoteMode : uint32_t { All, Any, Uniform, Ballot };
enum class ReduceMode : uint32_t { Add, Min, Max, UnsignedMin, UnsignedMax, And, Or, Xor };
enum class Rounding : uint32_t { Nearest, Zero, Down, Up };
enum class RoundedOp : uint32_t { Add, Sub, Mul, Fma, Div, Sqrt, Rcp };
// Element types of matrix operations.
enum class Element : uint32_t { F16, BF16, TF32, F32, S8, U8, S32, F64 };

} // namespace cleave::emulated
