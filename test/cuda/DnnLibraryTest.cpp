// Tests of cuDNN itself, if it is installed (CLEAVE_TEST_LIBCUDNN, else by its name or in CUDA's folder). It must have
// the entry points that Cleave calls, and must compute the sizes of the plan for each convolution that DnnConvolution
// describes. It needs no GPU for that. (It would need one to choose algorithms.)
#include "kernels/convolution/cuda/DnnConvolution.h"
#include "runtime/device/cuda/Driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <random>

using namespace cleave::rt;

namespace {

void *openLibrary() {
  const char *names[] = {std::getenv("CLEAVE_TEST_LIBCUDNN"), "libcudnn.so.9", "/usr/local/cuda/lib/libcudnn.so.9",
                         "/usr/local/cuda/lib64/libcudnn.so.9"};
  for (const char *name : names)
    if (name)
      if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
        return library;
  return nullptr;
}

struct Library {
  cuda::Dnn table;
  cuda::Result (*outputSizes)(cuda::Handle convolution, cuda::Handle x, cuda::Handle w, int dims, int *sizes) = nullptr;
  std::string missing;
};

const Library *libraryOnce() {
  static Library opened;
  static void *library = openLibrary();
  static bool done = false;
  if (library && !done) {
    auto find = [&](const char *symbol, auto *entry) {
      *reinterpret_cast<void **>(entry) = dlsym(library, symbol);
      opened.missing += *entry ? "" : std::string(symbol) + " ";
    };
#define CLEAVE_DNN_ENTRY(member, symbol, parameters) find(#symbol, &opened.table.member);
#include "runtime/device/cuda/Dnn.def"
    find("cudnnGetVersion", &opened.table.version);
    find("cudnnGetErrorString", &opened.table.errorText);
    find("cudnnGetLastErrorString", &opened.table.lastError);
    find("cudnnGetConvolutionNdForwardOutputDim", &opened.outputSizes);
    done = true;
  }
  return library ? &opened : nullptr;
}

TEST(DnnLibraryTest, EntryPoints) {
  const Library *library = libraryOnce();
  if (!library)
    GTEST_SKIP() << "cuDNN is not installed";
  EXPECT_EQ(library->missing, "");
  EXPECT_GE(library->table.version(), 90000u);
}

TEST(DnnLibraryTest, Sizes) {
  const Library *library = libraryOnce();
  if (!library || !library->missing.empty())
    GTEST_SKIP() << "cuDNN is not installed";
  const cuda::Dnn &dnn = library->table;
  cuda::Handle x = nullptr, w = nullptr, convolution = nullptr;
  ASSERT_EQ(dnn.tensorCreate(&x), 0);
  ASSERT_EQ(dnn.filterCreate(&w), 0);
  ASSERT_EQ(dnn.convolutionCreate(&convolution), 0);
  std::mt19937 generator(1);
  auto draw = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator); };
  const KernelDef &def = *findKernelDef("convolution_weight_grad");
  int taken = 0, uneven = 0;
  for (int i = 0; i < 3000; ++i) {
    int64_t rank = draw(1, 3), groups = draw(1, 3);
    std::vector<int64_t> in, out, kernel, stride, dilation, low, high;
    for (int64_t dim = 0; dim < rank; ++dim) {
      in.push_back(draw(1, 40)), kernel.push_back(draw(1, 5)), stride.push_back(draw(1, 3));
      dilation.push_back(draw(1, 2)), low.push_back(draw(0, 2)), high.push_back(draw(0, 1) ? low.back() : draw(0, 3));
      int64_t room = in.back() + low.back() + high.back() - (kernel.back() - 1) * dilation.back() - 1;
      out.push_back(room < 0 ? 0 : room / stride.back() + 1);
    }
    if (*std::min_element(out.begin(), out.end()) < 1)
      continue;
    KernelParams params(def);
    params.set("dtype", static_cast<int64_t>(fb::DType::f32)).set("n", draw(1, 4)).set("ic", groups * draw(1, 3));
    params.set("oc", groups * draw(1, 3)).set("groups", groups).set("rank", rank).set("in", in).set("out", out);
    params.set("kernel", kernel)
        .set("stride", stride)
        .set("dilation", dilation)
        .set("pad_low", low)
        .set("pad_high", high);
    std::vector<int64_t> list;
    KernelArgs args;
    ASSERT_TRUE(params.finish(&list).isOk() && KernelArgs::read(def, list, &args).isOk());
    std::optional<DnnConvolution> known = DnnConvolution::of(args);
    if (!known) {
      EXPECT_NE(low, high); // unequal padding is the only reason to refuse one
      continue;
    }
    int dims = known->dims;
    DnnConvolution::Sizes strides{}, sizes{};
    for (int d = dims - 1, next = 1; d >= 0; next *= known->x[static_cast<size_t>(d)], --d)
      strides[static_cast<size_t>(d)] = next;
    ASSERT_EQ(dnn.tensorSet(x, 0, dims, known->x.data(), strides.data()), 0);
    ASSERT_EQ(dnn.filterSet(w, 0, 0, dims, known->w.data()), 0);
    ASSERT_EQ(dnn.convolutionSet(convolution, dims - 2, known->pad.data(), known->stride.data(), known->dilation.data(),
                                 1, 0),
              0);
    ASSERT_EQ(dnn.convolutionGroups(convolution, known->groups), 0);
    ASSERT_EQ(dnn.convolutionMath(convolution, 3), 0);
    ASSERT_EQ(library->outputSizes(convolution, x, w, dims, sizes.data()), 0);
    EXPECT_EQ(sizes, known->y);
    ++taken;
    uneven += low != high;
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(uneven, 50);
  dnn.tensorDestroy(x), dnn.filterDestroy(w), dnn.convolutionDestroy(convolution);
}

} // namespace
