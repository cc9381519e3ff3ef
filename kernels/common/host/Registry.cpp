#include "kernels/common/host/Registry.h"

#include "kernels/attention/host/Attention.h"
#include "kernels/convolution/host/Convolution.h"
#include "kernels/indexing/host/Indexing.h"
#include "kernels/matmul/host/Matmul.h"
#include "kernels/pooling/host/Pooling.h"
#include "kernels/reduction/host/Argmax.h"
#include "kernels/reduction/host/TopK.h"

#include <utility>

namespace cleave::rt {

MakeHostKernel findHostKernel(std::string_view name) {
  static const std::vector<std::pair<std::string_view, MakeHostKernel>> table = {
      {"matmul", makeMatmul},
      {"matmul_pack_b", makeMatmulPack},
      {"matmul_bias", makeMatmul},
      {"matmul_bias_pack_b", makeMatmulPack},
      {"matmul_bias_grad", makeMatmulBiasGrad},
      {"matmul_bias_grad_a", makeMatmulBiasGrad},
      {"convolution", makeConvolution},
      {"convolution_pack_w", makeConvolutionPack},
      {"convolution_bias", makeConvolutionBias},
      {"convolution_bias_pack_w", makeConvolutionBiasPack},
      {"convolution_input_grad", makeConvolutionInputGrad},
      {"convolution_weight_grad", makeConvolutionWeightGrad},
      {"max_pool", makeMaxPool},
      {"max_pool_grad", makeMaxPoolGrad},
      {"avg_pool", makeAvgPool},
      {"avg_pool_grad", makeAvgPoolGrad},
      {"take", makeTake},
      {"pick", makeTake},
      {"put_add", makePutAdd},
      {"put", makePut},
      {"check_index", makeCheckIndex},
      {"top_k", makeTopK},
      {"argmax", makeArgmax},
      {"attention", makeAttention},
      {"attention_masked", makeAttention},
      {"attention_dropout", makeAttention},
      {"attention_masked_dropout", makeAttention},
      {"attention_grad", makeAttentionGrad},
      {"attention_masked_grad", makeAttentionGrad},
      {"attention_dropout_grad", makeAttentionGrad},
      {"attention_masked_dropout_grad", makeAttentionGrad},
  };
  for (const auto &[known, make] : table)
    if (known == name)
      return make;
  return nullptr;
}

} // namespace cleave::rt
