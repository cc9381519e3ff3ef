/* The contract between a compiled artefact and the runtime: what the object file that `cleave compile` emits
 * defines, and what the runtime expects to find. C, so that any linker and any language can carry it.
 *
 * `cleave compile gpt.onnx -o gpt --emit object` defines `const cleave_model cleave_model_gpt`. An executable also
 * defines `const cleave_model *const cleave_main_model`, which the main program of libcleave_main.a reads. */
#ifndef CLEAVE_MODEL_H
#define CLEAVE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEAVE_MODEL_ABI 5

/* A generated kernel. `buffers` are the launch's buffers in plan order; iterations [begin, end) of the outermost
 * loop are run, so that any split of [0, extent) over threads computes the same bits. */
typedef void (*cleave_kernel_fn)(void *const *buffers, int64_t begin, int64_t end);

/* A generated kernel of a device image. Its parameters are the launch's buffers in plan order, one pointer each. A
 * launch of any number of blocks computes the same bits: block b does the work of blocks b, b + number, ... */
typedef struct cleave_device_kernel {
  const char *symbol;  /* NULL where the kernel of the plan is not `generated` */
  uint64_t blocks;     /* that have work */
  uint64_t block_size; /* threads of each: no other number will do */
  uint64_t alignments; /* of buffer i (< 16), on a multiple of 2 to the power of the i-th four bits, lowest first */
} cleave_device_kernel;

typedef struct cleave_model {
  uint32_t abi; /* CLEAVE_MODEL_ABI */
  const char *name;
  const void *plan; /* a Plan.fbs buffer, 64-byte aligned */
  size_t plan_size;
  const cleave_kernel_fn *kernels; /* one per entry of Plan.kernels, of all kinds; NULL where it is not `generated` */
  const uint64_t *kernel_facts;    /* for each of them what the plan may say of its code: Kernel.facts, else 0; then one
                                    * more, of what the plan may say that its programs compute (MeaningSeal.h) */
  size_t kernel_count;
  const void *weights; /* a safetensors image, 64-byte aligned; NULL when they lie beside the executable */
  size_t weights_size;
  const char *weights_file; /* "NAME.weights/model.safetensors", relative to the executable; NULL when embedded */
  /* "9d3ab2f0": of the header of that file (runtime/state/SafeTensors.h), which holds checksums of all tensors. A file
   * with another one belongs to another compilation, and is refused. NULL when embedded. */
  const char *weights_checksum;
  /* Code for a device, where the plan's target is not the host: then `kernels` holds NULLs. Of a form of its own
   * (runtime/device/cuda/DeviceImage.h), which has its size and checksums. */
  const void *device_image;
  size_t device_image_size;
  const cleave_device_kernel *device_kernels; /* one per entry of Plan.kernels */
} cleave_model;

#ifdef __cplusplus
}
#endif
#endif
