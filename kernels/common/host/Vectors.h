// Code that uses the processor's vectors. It is written as templates over the element type and the vectors' size, and
// inlined into functions that are compiled for one set of instructions (CLEAVE_FOR_PROCESSOR).
#ifndef CLEAVE_KERNELS_COMMON_HOST_VECTORS_H
#define CLEAVE_KERNELS_COMMON_HOST_VECTORS_H

#include <cstdint>
#include <cstring>

namespace cleave::rt {

#define CLEAVE_VECTOR_CODE inline __attribute__((always_inline))

template <typename C> struct IntegerOf;
template <> struct IntegerOf<float> { using type = int32_t; };
template <> struct IntegerOf<double> { using type = int64_t; };

// Vectors of `Bytes` bytes. A tile of sums that is held in registers has kLines lines of kVectors vectors.
template <typename C, int Bytes, int Lines, int Vectors> struct VectorsOf {
  using Number = C;
  using Integer = typename IntegerOf<C>::type;
  typedef C Vector __attribute__((vector_size(Bytes)));
  typedef Integer Integers __attribute__((vector_size(Bytes)));
  static constexpr int64_t kLanes = Bytes / sizeof(C);
  static constexpr int kLines = Lines, kVectors = Vectors;
};

template <typename V> CLEAVE_VECTOR_CODE typename V::Vector loadVector(const typename V::Number *from) {
  typename V::Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename V> CLEAVE_VECTOR_CODE void storeVector(typename V::Number *to, typename V::Vector value) {
  std::memcpy(to, &value, sizeof value);
}

// The widest vectors that kernels use. They are those of the instructions that the library is restricted to
// (HostKernel.h).
enum class VectorLevel { Baseline, Avx2, Avx512 };
VectorLevel vectorLevel();

// Defines a function that calls NAME<V, T>(...), compiled for the processor's vectors. NAME must be a template with
// CLEAVE_VECTOR_CODE. It is inlined into a separate function for each set of instructions, because the compiler chooses
// instructions for whole functions.
#if defined(__x86_64__)
#define CLEAVE_FOR_PROCESSOR(NAME)                                                                                     \
  template <typename T, typename C, typename... A>                                                                     \
  __attribute__((target("avx512f,avx512dq,fma"))) void NAME##Avx512(A... arguments) {                                  \
    NAME<VectorsOf<C, 64, 6, 4>, T>(arguments...);                                                                     \
  }                                                                                                                    \
  template <typename T, typename C, typename... A>                                                                     \
  __attribute__((target("avx2,fma"))) void NAME##Avx2(A... arguments) {                                                \
    NAME<VectorsOf<C, 32, 6, 2>, T>(arguments...);                                                                     \
  }                                                                                                                    \
  template <typename T, typename C, typename... A> void NAME##Baseline(A... arguments) {                               \
    NAME<VectorsOf<C, 16, 4, 2>, T>(arguments...);                                                                     \
  }                                                                                                                    \
  template <typename T, typename C, typename... A> void NAME##ForProcessor(A... arguments) {                           \
    switch (vectorLevel()) {                                                                                           \
    case VectorLevel::Avx512:                                                                                          \
      return NAME##Avx512<T, C>(arguments...);                                                                         \
    case VectorLevel::Avx2:                                                                                            \
      return NAME##Avx2<T, C>(arguments...);                                                                           \
    case VectorLevel::Baseline:                                                                                        \
      return NAME##Baseline<T, C>(arguments...);                                                                       \
    }                                                                                                                  \
  }
#else
#define CLEAVE_FOR_PROCESSOR(NAME)                                                                                     \
  template <typename T, typename C, typename... A> void NAME##ForProcessor(A... arguments) {                           \
    NAME<VectorsOf<C, 16, 4, 4>, T>(arguments...);                                                                     \
  }
#endif

} // namespace cleave::rt

#endif
