# cmake -DTEXT=FILE -DOUTPUT=FILE.cpp -P EmbedText.cmake: a text file as cleave::rt::cudaKernelImage().
file(READ ${TEXT} text)
# In parts: compilers need not take a string literal of any length.
set(parts "")
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 15000 part)
  string(APPEND parts "    R\"ptx(${part})ptx\"\n")
  math(EXPR at "${at} + 15000")
endwhile()
file(WRITE ${OUTPUT} "// Written by cmake/EmbedText.cmake.
#include \"kernels/common/cuda/CudaKernel.h\"
namespace cleave::rt {
static const char kImage[] =
${parts}    \"\";
const char *cudaKernelImage() { return kImage; }
} // namespace cleave::rt
")
