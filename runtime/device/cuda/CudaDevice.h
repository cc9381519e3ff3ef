// A GPU as a device of the runtime: actions enqueue work, and one thread serves all streams.
//
// Each stream of the plan is a stream of the driver. The plan's events order them (CudaStreams.h), and operations of NCCL
// have one order on all streams (NcclWorld.h).
//
// The first run of a program executes its actions. The second run is captured as a graph of the driver, and later runs
// launch this graph. It contains the addresses of all frames; everything that changes between steps is in memory. No
// graph is captured if the host takes part in the program (an exchange through its memory), if a trace waits for each
// instruction, or with CLEAVE_CUDA_GRAPHS=0. A graph takes memory of the GPU. If a rank's GPU has none left, no rank
// captures this program or a further one: their runs execute the actions, with the same results.
//
// If each rank has a GPU of its own, the GPUs communicate by NCCL (NcclWorld.h). If ranks share a GPU, which NCCL
// refuses, or with CLEAVE_CUDA_COMM=host, collectives, sends and receives go through the host (CudaExchange.cpp): the
// bytes are copied to pinned memory, the communicator reduces, gathers or moves them there, and they are copied back.
// Meanwhile the host enqueues nothing, but work that is already enqueued goes on.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Algorithms.h"
#include "runtime/device/cuda/CudaModules.h"
#include "runtime/device/cuda/CudaStreams.h"
#include "runtime/device/cuda/NcclWorld.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

class KernelArgs; // runtime/plan/KernelDefs.h

class CudaDevice : public Device {
public:
  // Fails if there is no driver, or no GPU that can run code for `target` ("cuda:sm_90").
  static Status create(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result);
  ~CudaDevice() override;

  Status connect(const ConnectRequest &request) override;
  Status allocate(fb::Space space, size_t bytes, std::byte **data) override;
  unsigned threadOf(unsigned) const override { return 0; }
  Status enterThread(unsigned thread) override;
  void leaveThread(unsigned thread) override;

  Status beginProgram(unsigned program, bool *isDone) override;
  Status endProgram(unsigned program, bool *mustRepeat) override;

  bool sharesMemory() const override { return false; }
  Status upload(std::byte *target, const std::byte *source, size_t bytes) override;
  Status download(std::byte *target, const std::byte *source, size_t bytes) override;
  Status synchronize() override;

  Status launch(const LaunchRequest &request, ActionPtr *action) override;
  Status copy(unsigned stream, Address target, Address source, ActionPtr *action) override;
  Status fill(unsigned stream, Address target, uint64_t pattern, unsigned width, ActionPtr *action) override;
  Status collective(const CollectiveRequest &request, ActionPtr *action) override;
  Status transfer(const TransferRequest &request, ActionPtr *action) override;
  unsigned makeEvent() override { return streams_.makeEvent(); }
  Status record(unsigned stream, unsigned event, ActionPtr *action) override;
  Status wait(unsigned stream, unsigned event, ActionPtr *action) override;

  // Enqueues a copy on one stream.
  Status move(std::byte *target, const std::byte *source, size_t bytes, cuda::Handle stream);
  // Waits until this stream has done its work. It does not wait for other streams.
  Status waitFor(cuda::Handle stream);

  // Pinned memory of the host for the exchanges of one stream, which run one after the other. It has the size of the
  // largest.
  struct Pinned {
    std::byte *data = nullptr;
    size_t bytes = 0;
  };

private:
  explicit CudaDevice(const DeviceOptions &options) : options_(options) {}
  Status open(const std::string &target);
  Status checkDevice(const std::string &target);
  Status bindGenerated(const LaunchRequest &request, ActionPtr *action);
  Status bindNamed(const LaunchRequest &request, ActionPtr *action);
  // Returns an executable graph that needs no more memory to be launched; null if the GPU has no memory for it.
  Status makeExecutable(cuda::Handle captured, cuda::Handle *graph);
  Status launchGraph(cuda::Handle graph);
  void abandonCaptures();
  Status copyError();
  Status openBlas();
  Status bindMatmul(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action);
  // Binds Cleave's own kernel to the bias_grad of a product for which the library cannot sum columns.
  Status bindColumnSums(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action);
  Status openDnn(cuda::Handle stream, cuda::Handle *handle);
  // Sets no action if cuDNN does not compute this convolution.
  Status bindConvolution(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action);
  unsigned gridOf(uint64_t blocks) const;
  Status reservePinned(cuda::Handle stream, size_t bytes, const Pinned **pinned);
  Status exchangeCollective(const CollectiveRequest &request, cuda::Handle stream, ActionPtr *action);
  Status exchangeTransfer(const TransferRequest &request, cuda::Handle stream, ActionPtr *action);

  // An entry program as a graph.
  struct Replay {
    unsigned runs = 0;
    bool isCapturing = false;
    cuda::Handle graph = nullptr; // the executable graph
    NcclWorld::Script script;     // what the graph communicates
  };

  DeviceOptions options_;
  bool canCapture_ = true;
  std::map<unsigned, Replay> replays_;
  const cuda::Driver *driver_ = nullptr;
  const cuda::BlasLt *blas_ = nullptr;
  const cuda::Dnn *dnn_ = nullptr;
  CudaStreams streams_;
  std::unique_ptr<NcclWorld> world_; // null: ranks communicate through the host
  cuda::Handle context_ = nullptr, blasHandle_ = nullptr;
  std::optional<cuda::Handle> callersContext_; // of the thread that has entered; nothing if it could not be read
  Algorithms algorithms_;            // of blasHandle_
  std::map<cuda::Handle, cuda::Handle> dnnHandles_; // cuDNN's handle for each stream
  Algorithms dnnAlgorithms_;
  CudaModules modules_;
  std::string deviceName_; // "sm_90, NVIDIA H100 80GB HBM3"
  int device_ = 0, multiprocessors_ = 1;
  int major_ = 0, minor_ = 0; // its compute capability
  size_t freeBytes_ = 0; // of its memory, when the device was opened
  cuda::Pointer error_ = 0;          // the address in CudaCall::error
  long long *errorOnHost_ = nullptr; // the host's copy of error_
  bool isErrorCopied_ = false;       // the run that is enqueued copies error_ to errorOnHost_
  struct IndexedLaunch {
    std::string place, expected;
  };
  std::vector<IndexedLaunch> indexed_; // by CudaCall::launch - 1
  std::vector<cuda::Pointer> memory_;
  std::vector<void *> pinned_;
  std::map<cuda::Handle, Pinned> exchanged_; // by stream
};

} // namespace cleave::rt

#endif
