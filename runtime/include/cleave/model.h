/* The contract between a compiled model and the runtime: the object file that `cleave compile` emits defines a
 * `cleave_model`, and the runtime reads it. It is C, so that any linker and any language can use it.
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

#define CLEAVE_MODEL_ABI 6

/* A generated kernel. `buffers` are the launch's buffers in plan order. The call runs iterations [begin, end) of the
 * outermost loop. Any split of [0, extent) over threads computes the same bits. */
typedef void (*cleave_kernel_fn)(void *const *buffers, int64_t begin, int64_t end);

/* A generated kernel of a device image. Its parameters are the launch's buffers in plan order, one pointer each. A
 * launch with any number of blocks computes the same bits: with n blocks, block b does the work of blocks b, b + n, ...
 */
typedef struct cleave_device_kernel {
  const char *symbol;  /* NULL if the plan's kernel is not `generated` */
  uint64_t blocks;     /* blocks that have work */
  uint64_t block_size; /* threads of a block: a launch must use exactly this number */
  uint64_t alignments; /* bits [4i, 4i + 4) are a number n: buffer i (< 16) must be at a multiple of 2^n bytes */
} cleave_device_kernel;

typedef struct cleave_model {
  uint32_t abi; /* CLEAVE_MODEL_ABI */
  const char *name;
  const void *plan; /* a Plan.fbs buffer, 64-byte aligned */
  size_t plan_size;
  const cleave_kernel_fn *kernels; /* one per entry of Plan.kernels, of all kinds; NULL if it is not `generated` */
  const uint64_t *kernel_facts;    /* for each kernel, the Kernel.facts that the plan must state about its code, or 0;
                                    * then the two seals of the plan (runtime/plan/Seals.h) */
  size_t kernel_count;
  const void *weights; /* a safetensors image, 64-byte aligned; NULL if the weights are in a file */
  size_t weights_size;
  const char *weights_file; /* "NAME.weights/model.safetensors", relative to the executable; NULL when embedded */
  /* The checksum of that file's header (runtime/state/SafeTensors.h), as "9d3ab2f0". The header has checksums of all
   * tensors. A file with another checksum belongs to another compilation, and is refused. NULL when embedded. */
  const char *weights_checksum;
  /* Code for a device, if the plan's target is not the host. Then all `kernels` are NULL. The image has a format of its
   * own with size and checksums (runtime/device/cuda/DeviceImage.h). */
  const void *device_image;
  size_t device_image_size;
  const cleave_device_kernel *device_kernels; /* one per entry of Plan.kernels */
} cleave_model;

#ifdef __cplusplus
}
#endif
#endif
