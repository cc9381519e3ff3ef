// A GPU as a device of the runtime: actions enqueue work, one thread serves all streams.
//
// Each stream of the plan is a stream of the driver, ordered by the plan's events alone (CudaStreams.h).
//
// A program runs once as it is, is captured as a graph of the driver at its second run, and replayed from then on: the
// addresses of all frames are in it, and what changes between steps lies in memory. Not where the host takes part
// (an exchange through its memory) or waits for each instruction (a trace), nor with CLEAVE_CUDA_GRAPHS=0.
//
// Where each rank has a GPU of its own, they talk by NCCL (NcclWorld.h). Where ranks share one, which NCCL refuses, or
// with CLEAVE_CUDA_COMM=host, collectives, sends and receives go through the host (CudaExchange.cpp): the bytes come to
// pinned memory, the communicator reduces, gathers or moves them there, and they go back. While the host is busy with
// that it enqueues nothing; what is in line already runs on.
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
  // Checks that there is a driver, and a GPU that can run code for `target` ("cuda:sm_90").
  static Status create(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result);
  ~CudaDevice() override;

  Status connect(const ConnectRequest &request) override;
  Status allocate(fb::Space space, size_t bytes, std::byte **data) override;
  unsigned threadOf(unsigned) const override { return 0; }
  Status enterThread(unsigned thread) override;
  void leaveThread(unsigned thread) override;

  Status beginProgram(unsigned program, bool *isDone) override;
  Status endProgram(unsigned program) override;

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
  // Waits until that stream alone has done its work.
  Status waitFor(cuda::Handle stream);

  // Pinned memory of the host through which a stream's exchanges go, one after the other: as much as the largest needs.
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
  Status launchGraph(cuda::Handle graph);
  Status copyError();
  Status openBlas();
  Status bindMatmul(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action);
  // The bias_grad of a product for which the library has no sums of columns: by Cleave's own kernel.
  Status bindColumnSums(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action);
  Status openDnn(cuda::Handle stream, cuda::Handle *handle);
  // No action where cuDNN does not compute it.
  Status bindConvolution(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action);
  unsigned gridOf(uint64_t blocks) const;
  Status reservePinned(cuda::Handle stream, size_t bytes, const Pinned **pinned);
  Status exchangeCollective(const CollectiveRequest &request, cuda::Handle stream, ActionPtr *action);
  Status exchangeTransfer(const TransferRequest &request, cuda::Handle stream, ActionPtr *action);

  // An entry program as a graph.
  struct Replay {
    unsigned runs = 0;
    bool isCapturing = false;
    cuda::Handle graph = nullptr; // executable
    NcclWorld::Script script;     // of the graph
  };

  DeviceOptions options_;
  bool canCapture_ = true;
  std::map<unsigned, Replay> replays_;
  const cuda::Driver *driver_ = nullptr;
  const cuda::BlasLt *blas_ = nullptr;
  const cuda::Dnn *dnn_ = nullptr;
  CudaStreams streams_;
  std::unique_ptr<NcclWorld> world_; // null: ranks talk through the host
  cuda::Handle context_ = nullptr, blasHandle_ = nullptr;
  std::optional<cuda::Handle> callersContext_; // of the thread that has entered; none where it could not be read
  Algorithms algorithms_;            // of blasHandle_
  std::map<cuda::Handle, cuda::Handle> dnnHandles_; // of cuDNN, by stream
  Algorithms dnnAlgorithms_;
  CudaModules modules_;
  std::string deviceName_; // "sm_90, NVIDIA H100 80GB HBM3"
  int device_ = 0, multiprocessors_ = 1;
  int major_ = 0, minor_ = 0; // its compute capability
  size_t freeBytes_ = 0; // of its memory, when it was opened
  cuda::Pointer error_ = 0;          // CudaCall::error
  long long *errorOnHost_ = nullptr; // its copy
  bool isErrorCopied_ = false;       // by the run that is enqueued
  struct IndexedLaunch {
    std::string place, expected;
  };
  std::vector<IndexedLaunch> indexed_; // what a launch number of CudaCall::launch stands for
  std::vector<cuda::Pointer> memory_;
  std::vector<void *> pinned_;
  std::map<cuda::Handle, Pinned> exchanged_; // by stream
};

} // namespace cleave::rt

#endif
