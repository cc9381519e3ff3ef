// Machines by name. Peak rates are the dense rates of data sheets: if a sheet gives a rate "with sparsity", it is half
// of that. Efficiencies and launch times are in no data sheet. Their sources are given here. None was fitted to a step
// that was measured with Cleave:
// clang-format off
//   products   0.75   a product of 8192^3 by cuBLAS reaches 0.79 on an H100 (test/bench/README.md); those of a model are
//                     smaller
//   attention         FlashAttention-2 reaches 0.35 of an H100 (Shah et al. 2024) and 0.5 to 0.73 of an A100 (Dao
//                     2023). Cleave's kernels reach 0.46 of an H200 forward by wgmma, and 0.18 backward
//                     (kernels/attention)
//   vector     0.5    the peak counts a multiply-add as two operations, which most expressions do not have
//   memory     0.8    streaming kernels reach 0.8 to 0.92 of the sheet's rate
//   links      0.8    protocol and headers
//   seconds of a link: latencies of NCCL's own cost model for its protocol Simple (src/graph/tuning.cc)
//   launch     2 us   between two nodes of a CUDA graph, including the first block's start and the last one's end
// clang-format on
#include "compiler/CostModel/MachineModel.h"

namespace cleave {

// NVIDIA H100 Tensor Core GPU data sheet, SXM: 67 TFLOP/s FP32 and FP64 tensor core, 34 FP64, 1,979 bf16 and fp16 with
// sparsity, 3.35 TB/s, NVLink 900 GB/s and PCIe Gen5 128 GB/s both directions together. Cleave computes f32 without
// TF32. DGX H100 data sheet: 8 GPUs, 8 ports of 400 Gb/s.
static const char kH100[] = R"({
  "name": "NVIDIA H100 SXM, 80 GB",
  "source": "NVIDIA H100 Tensor Core GPU data sheet (SXM) and DGX H100 data sheet; dense rates",
  "product_flops_per_second": {"f64": 67e12, "f32": 67e12, "bf16": 989.5e12, "f16": 989.5e12},
  "vector_flops_per_second": {"f64": 34e12, "f32": 67e12},
  "memory_bytes_per_second": 3.35e12,
  "launch_seconds": 2e-6,
  "node": {"ranks": 8, "bytes_per_second": 450e9, "seconds": 3.4e-6},
  "network": {"bytes_per_second": 50e9, "seconds": 14e-6},
  "host_copy": {"bytes_per_second": 64e9, "seconds": 5e-6},
  "efficiency": {"products": 0.75, "attention": 0.35, "vector": 0.5, "memory": 0.8, "links": 0.8},
  "targets": ["cuda:sm_80", "cuda:sm_90"]
})";

// NVIDIA H200 Tensor Core GPU data sheet, SXM: the rates of an H100, 4.8 TB/s. DGX H200 data sheet: links as DGX H100.
static const char kH200[] = R"({
  "name": "NVIDIA H200 SXM, 141 GB",
  "source": "NVIDIA H200 Tensor Core GPU data sheet (SXM) and DGX H200 data sheet; dense rates",
  "product_flops_per_second": {"f64": 67e12, "f32": 67e12, "bf16": 989.5e12, "f16": 989.5e12},
  "vector_flops_per_second": {"f64": 34e12, "f32": 67e12},
  "memory_bytes_per_second": 4.8e12,
  "launch_seconds": 2e-6,
  "node": {"ranks": 8, "bytes_per_second": 450e9, "seconds": 3.4e-6},
  "network": {"bytes_per_second": 50e9, "seconds": 14e-6},
  "host_copy": {"bytes_per_second": 64e9, "seconds": 5e-6},
  "efficiency": {"products": 0.75, "attention": 0.35, "vector": 0.5, "memory": 0.8, "links": 0.8},
  "targets": ["cuda:sm_80", "cuda:sm_90"]
})";

// NVIDIA A100 80GB data sheet, SXM: 19.5 TFLOP/s FP32 and FP64 tensor core, 9.7 FP64, 312 bf16 and fp16, 2,039 GB/s,
// NVLink 600 GB/s and PCIe Gen4 64 GB/s both directions together. DGX A100 data sheet: 8 GPUs, 8 ports of 200 Gb/s.
static const char kA100[] = R"({
  "name": "NVIDIA A100 SXM, 80 GB",
  "source": "NVIDIA A100 80GB Tensor Core GPU data sheet (SXM) and DGX A100 data sheet; dense rates",
  "product_flops_per_second": {"f64": 19.5e12, "f32": 19.5e12, "bf16": 312e12, "f16": 312e12},
  "vector_flops_per_second": {"f64": 9.7e12, "f32": 19.5e12},
  "memory_bytes_per_second": 2.039e12,
  "launch_seconds": 2e-6,
  "node": {"ranks": 8, "bytes_per_second": 300e9, "seconds": 3.4e-6},
  "network": {"bytes_per_second": 25e9, "seconds": 14e-6},
  "host_copy": {"bytes_per_second": 32e9, "seconds": 5e-6},
  "efficiency": {"products": 0.75, "attention": 0.5, "vector": 0.5, "memory": 0.8, "links": 0.8},
  "targets": ["cuda:sm_80"]
})";

static const std::map<std::string, const char *, std::less<>> kMachines = {
    {"a100", kA100}, {"h100", kH100}, {"h200", kH200}};

std::vector<std::string> knownMachines() {
  std::vector<std::string> names;
  for (const auto &[name, json] : kMachines)
    names.push_back(name);
  return names;
}

const char *knownMachineJson(std::string_view name) {
  auto found = kMachines.find(name);
  return found == kMachines.end() ? nullptr : found->second;
}

} // namespace cleave
