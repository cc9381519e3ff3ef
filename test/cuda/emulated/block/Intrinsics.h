// What translated code calls: one C function per operation that needs other threads, checks, or a function of the maths
// library. The translator names them, the JIT resolves them from `intrinsics()`; nothing else is visible to kernels.
//
// All values travel as integers of their width; several results through `out`.
#pragma once
#include <cstdint>
#include <vector>

namespace cleave::emulated {

struct Intrinsic {
  const char *name;
  void *address;
};

const std::vector<Intrinsic> &intrinsics();

// Families register their functions once.
void addThreadIntrinsics(std::vector<Intrinsic> &list);    // ids, memory checks, traps
void addWarpIntrinsics(std::vector<Intrinsic> &list);      // shuffles, votes, barriers
void addCopyIntrinsics(std::vector<Intrinsic> &list);      // cp.async, mbarrier
void addMatrixIntrinsics(std::vector<Intrinsic> &list);    // ldmatrix, stmatrix, mma
void addWarpGroupIntrinsics(std::vector<Intrinsic> &list); // wgmma
void addMathIntrinsics(std::vector<Intrinsic> &list);      // approximations, rounding, reduced types

// Special registers, numbered for the call.
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
