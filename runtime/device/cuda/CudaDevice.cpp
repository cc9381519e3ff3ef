#include "runtime/device/cuda/CudaDevice.h"

#include "kernels/common/cuda/CudaKernel.h"
#include "runtime/base/HumanUnits.h"
#include "runtime/device/cuda/ChosenDevice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cleave::rt {

using cuda::check;
using cuda::Handle;
using cuda::Pointer;

static Pointer pointerTo(const void *data) { return reinterpret_cast<Pointer>(data); }

Status CudaDevice::create(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(options));
  CLEAVE_TRY(device->open(target));
  *result = std::move(device);
  return Status::ok();
}

Status CudaDevice::checkDevice(const std::string &target) {
  CLEAVE_TRY(cuda::chooseDevice(*driver_, target, options_.rank, &device_));
  char name[128] = "";
  CLEAVE_TRY(check(driver_->deviceName(name, sizeof name, device_), "cuDeviceGetName"));
  CLEAVE_TRY(check(driver_->deviceAttribute(&major_, cuda::kCapabilityMajor, device_), "cuDeviceGetAttribute"));
  CLEAVE_TRY(check(driver_->deviceAttribute(&minor_, cuda::kCapabilityMinor, device_), "cuDeviceGetAttribute"));
  CLEAVE_TRY(
      check(driver_->deviceAttribute(&multiprocessors_, cuda::kMultiprocessors, device_), "cuDeviceGetAttribute"));
  deviceName_ = "sm_" + std::to_string(10 * major_ + minor_) + ", " + name;
  int needed = std::atoi(target.c_str() + std::min(target.size(), target.find("sm_") + 3));
  if (10 * major_ + minor_ < needed)
    return invalidArgument("this program was compiled for " + target + "; the device is '" + name + "', which is sm_" +
                           std::to_string(10 * major_ + minor_) + "; compile the model for it");
  return Status::ok();
}

Status CudaDevice::open(const std::string &target) {
  CLEAVE_TRY(cuda::openDriver(&driver_));
  CLEAVE_TRY(checkDevice(target));
  CLEAVE_TRY(check(driver_->contextRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  cuda::ContextScope scope(*driver_, context_);
  CLEAVE_TRY(Status(scope.status()));
  size_t total = 0, &free = freeBytes_;
  CLEAVE_TRY(check(driver_->memoryInfo(&free, &total), "cuMemGetInfo"));
  if (options_.deviceBytes > free)
    return {Code::OutOfMemory, "the plan takes " + exactBytesText(options_.deviceBytes) + " of the GPU's memory; " +
                                   exactBytesText(free) + " of " + bytesText(total) + " are free"};
  CLEAVE_TRY(streams_.open(*driver_));
  std::byte *error = nullptr;
  CLEAVE_TRY(allocate(fb::Space::device, 2 * sizeof(long long), &error));
  error_ = pointerTo(error);
  CLEAVE_TRY(allocate(fb::Space::host, 2 * sizeof(long long), &error));
  errorOnHost_ = reinterpret_cast<long long *>(error);
  const char *graphs = std::getenv("CLEAVE_CUDA_GRAPHS");
  canCapture_ = !options_.isTraced && !(graphs && std::string(graphs) == "0");
  return modules_.open(*driver_, options_.image, major_, minor_, options_.rank);
}

// An abort that has begun lets kernels end, but itself ends only after the graphs are destroyed (NcclComms.h).
CudaDevice::~CudaDevice() {
  if (!context_)
    return;
  cuda::ContextScope scope(*driver_, context_);
  if (!scope.status().isOk())
    return;
  if (world_)
    world_->abortIfBroken();
  for (auto &[program, replay] : replays_)
    if (replay.graph) {
      driver_->streamSynchronize(streams_.main());
      driver_->graphExecDestroy(replay.graph);
    }
  world_.reset();
  for (auto &[stream, handle] : dnnHandles_)
    if (handle)
      dnn_->destroy(handle);
  streams_.close();
  if (blasHandle_)
    blas_->destroy(blasHandle_);
  modules_.close();
  for (Pointer memory : memory_)
    driver_->memoryFree(memory);
  for (void *memory : pinned_)
    driver_->hostFree(memory);
  for (auto &[stream, pinned] : exchanged_)
    driver_->hostFree(pinned.data);
  driver_->contextRelease(device_);
}

Status CudaDevice::allocate(fb::Space space, size_t bytes, std::byte **data) {
  size_t size = std::max<size_t>(bytes, 1);
  if (space == fb::Space::host) {
    void *memory = nullptr;
    CLEAVE_TRY(check(driver_->hostAllocate(&memory, size, 0), "cuMemHostAlloc"));
    pinned_.push_back(memory);
    std::memset(memory, 0, size);
    *data = static_cast<std::byte *>(memory);
    return Status::ok();
  }
  Pointer memory = 0;
  CLEAVE_TRY(check(driver_->memoryAllocate(&memory, size), "cuMemAlloc"));
  memory_.push_back(memory);
  *data = reinterpret_cast<std::byte *>(memory);
  return check(driver_->fill8(memory, 0, size, streams_.main()), "cuMemsetD8Async");
}

Status CudaDevice::enterThread(unsigned) {
  callersContext_.reset();
  Handle current = nullptr;
  CLEAVE_TRY(check(driver_->contextCurrent(&current), "cuCtxGetCurrent"));
  callersContext_ = current;
  return check(driver_->contextSetCurrent(context_), "cuCtxSetCurrent");
}

// An action or the end of the program may have failed in a capture. Only the thread that began the capture can end it.
void CudaDevice::abandonCaptures() {
  for (auto &[program, replay] : replays_)
    if (std::exchange(replay.isCapturing, false))
      if (Handle graph = nullptr; driver_->captureEnd(streams_.main(), &graph) == 0 && graph)
        driver_->graphDestroy(graph);
}

void CudaDevice::leaveThread(unsigned) {
  abandonCaptures();
  if (callersContext_)
    driver_->contextSetCurrent(*callersContext_);
  callersContext_.reset();
}

Status CudaDevice::beginProgram(unsigned program, bool *isDone) {
  algorithms_.save(); // all instructions are bound; only the first run saves anything
  dnnAlgorithms_.save();
  Replay &replay = replays_[program];
  *isDone = replay.graph != nullptr;
  if (world_)
    world_->startRun(replay.graph ? &replay.script : nullptr);
  if (replay.graph)
    return launchGraph(replay.graph);
  if (++replay.runs == 2 && canCapture_) {
    CLEAVE_TRY(check(driver_->captureBegin(streams_.main(), cuda::kCaptureThisThread), "cuStreamBeginCapture"));
    replay.isCapturing = true;
  }
  return streams_.fork();
}

Status CudaDevice::endProgram(unsigned program, bool *mustRepeat) {
  CLEAVE_TRY(streams_.join());
  CLEAVE_TRY(copyError());
  Replay &replay = replays_[program];
  *mustRepeat = std::exchange(replay.isCapturing, false);
  if (!*mustRepeat) {
    if (world_)
      world_->countSent();
    return Status::ok();
  }
  if (world_)
    replay.script = world_->script();
  Handle captured = nullptr;
  CLEAVE_TRY(check(driver_->captureEnd(streams_.main(), &captured), "cuStreamEndCapture"));
  Status status = makeExecutable(captured, &replay.graph);
  driver_->graphDestroy(captured);
  CLEAVE_TRY(std::move(status));
  canCapture_ = replay.graph != nullptr;
  if (world_)
    CLEAVE_TRY(world_->agree(canCapture_, &canCapture_));
  if (Handle other = canCapture_ ? nullptr : std::exchange(replay.graph, nullptr)) // another rank has none
    driver_->graphExecDestroy(other);
  return Status::ok();
}

Status CudaDevice::makeExecutable(Handle captured, Handle *graph) {
  Status status = check(driver_->graphInstantiate(graph, captured, cuda::kNodePriorities), "cuGraphInstantiate");
  if (status.isOk())
    status = check(driver_->graphUpload(*graph, streams_.main()), "cuGraphUpload");
  if (status.isOk())
    return status;
  if (Handle partial = std::exchange(*graph, nullptr))
    driver_->graphExecDestroy(partial);
  return status.code() == Code::OutOfMemory ? Status::ok() : status;
}

// The graph contains the copy of the error.
Status CudaDevice::launchGraph(Handle graph) {
  isErrorCopied_ = true;
  return world_ ? world_->launch(graph, streams_.main())
                : check(driver_->graphLaunch(graph, streams_.main()), "cuGraphLaunch");
}

Status CudaDevice::move(std::byte *target, const std::byte *source, size_t bytes, Handle stream) {
  return check(driver_->copy(pointerTo(target), pointerTo(source), bytes, stream), "cuMemcpyAsync");
}

Status CudaDevice::waitFor(Handle stream) { return check(driver_->streamSynchronize(stream), "cuStreamSynchronize"); }

Status CudaDevice::upload(std::byte *target, const std::byte *source, size_t bytes) {
  return move(target, source, bytes, streams_.main());
}

Status CudaDevice::download(std::byte *target, const std::byte *source, size_t bytes) {
  return move(target, source, bytes, streams_.main());
}

// Call it when the first stream is joined, so that all kernels have ended before the copy.
Status CudaDevice::copyError() {
  isErrorCopied_ = true;
  if (indexed_.empty())
    return Status::ok();
  return check(driver_->copy(pointerTo(errorOnHost_), error_, 2 * sizeof(long long), streams_.main()), "cuMemcpyAsync");
}

// Work that the watchdog has aborted looks done, so health() is asked first.
Status CudaDevice::synchronize() {
  Status status = streams_.synchronize();
  if (world_)
    CLEAVE_TRY(world_->health());
  if (world_ && status.isOk())
    world_->finishRun();
  CLEAVE_TRY(std::move(status));
  if (indexed_.empty())
    return Status::ok();
  if (!isErrorCopied_) { // in a traced run, or outside of runs
    CLEAVE_TRY(copyError());
    CLEAVE_TRY(waitFor(streams_.main()));
  }
  isErrorCopied_ = false;
  const long long *error = errorOnHost_;
  if (error[0] == 0)
    return Status::ok();
  std::string text = "index " + std::to_string(error[1]) + " is out of range";
  if (error[0] < 0 || static_cast<size_t>(error[0]) > indexed_.size())
    return invalidArgument(text).in("a kernel");
  const IndexedLaunch &launch = indexed_[static_cast<size_t>(error[0]) - 1];
  return invalidArgument(text + (launch.expected.empty() ? "" : "; expected " + launch.expected)).in(launch.place);
}

namespace {

class CopyAction : public Action {
public:
  CopyAction(const cuda::Driver &driver, Handle stream, Address target, Address source)
      : driver_(driver), stream_(stream), target_(target), source_(source) {}
  Status run(const Frames &frames, uint32_t) override {
    return check(driver_.copy(pointerTo(target_.at(frames)), pointerTo(source_.at(frames)), target_.bytes, stream_),
                 "cuMemcpyAsync");
  }

private:
  const cuda::Driver &driver_;
  Handle stream_;
  Address target_, source_;
};

class FillAction : public Action {
public:
  FillAction(const cuda::Driver &driver, Handle stream, Address target, uint64_t pattern, unsigned width)
      : driver_(driver), stream_(stream), target_(target), pattern_(pattern), width_(width) {}
  Status run(const Frames &frames, uint32_t) override {
    Pointer data = pointerTo(target_.at(frames));
    size_t count = target_.bytes / width_;
    switch (width_) {
    case 1:
      return check(driver_.fill8(data, static_cast<unsigned char>(pattern_), count, stream_), "cuMemsetD8Async");
    case 2:
      return check(driver_.fill16(data, static_cast<unsigned short>(pattern_), count, stream_), "cuMemsetD16Async");
    case 8:
      return fillWide(data, static_cast<unsigned>(pattern_), static_cast<unsigned>(pattern_ >> 32));
    default:
      return check(driver_.fill32(data, static_cast<unsigned>(pattern_), count, stream_), "cuMemsetD32Async");
    }
  }

private:
  // The driver has no fill of 8 bytes. The first element is written in halves. Then the filled bytes are copied after
  // themselves, so their number doubles with each copy.
  Status fillWide(Pointer data, unsigned low, unsigned high) const {
    if (target_.bytes == 0)
      return Status::ok();
    CLEAVE_TRY(check(driver_.fill32(data, low, 1, stream_), "cuMemsetD32Async"));
    CLEAVE_TRY(check(driver_.fill32(data + 4, high, 1, stream_), "cuMemsetD32Async"));
    for (size_t done = 8; done < target_.bytes; done *= 2)
      CLEAVE_TRY(check(driver_.copy(data + done, data, std::min<size_t>(done, target_.bytes - done), stream_),
                       "cuMemcpyAsync"));
    return Status::ok();
  }

  const cuda::Driver &driver_;
  Handle stream_;
  Address target_;
  uint64_t pattern_;
  unsigned width_;
};

// A record or a wait.
template <Status (CudaStreams::*enqueue)(unsigned, Handle)> class EventAction : public Action {
public:
  EventAction(CudaStreams &streams, unsigned event, Handle stream)
      : streams_(streams), event_(event), stream_(stream) {}
  Status run(const Frames &, uint32_t) override { return (streams_.*enqueue)(event_, stream_); }

private:
  CudaStreams &streams_;
  unsigned event_;
  Handle stream_;
};

template <Status (CudaStreams::*enqueue)(unsigned, Handle)>
Status bindEvent(CudaStreams &streams, unsigned stream, unsigned event, ActionPtr *action) {
  Handle handle = nullptr;
  CLEAVE_TRY(streams.at(stream, &handle));
  CLEAVE_TRY(streams.prepare(event));
  *action = std::make_unique<EventAction<enqueue>>(streams, event, handle);
  return Status::ok();
}

} // namespace

Status CudaDevice::copy(unsigned stream, Address target, Address source, ActionPtr *action) {
  Handle handle = nullptr;
  CLEAVE_TRY(streams_.at(stream, &handle));
  *action = std::make_unique<CopyAction>(*driver_, handle, target, source);
  return Status::ok();
}

Status CudaDevice::fill(unsigned stream, Address target, uint64_t pattern, unsigned width, ActionPtr *action) {
  if (width == 8 && pattern >> 32 == (pattern & 0xffffffffu)) // above all zeros
    width = 4;
  Handle handle = nullptr;
  CLEAVE_TRY(streams_.at(stream, &handle));
  *action = std::make_unique<FillAction>(*driver_, handle, target, pattern, width);
  return Status::ok();
}

Status CudaDevice::record(unsigned stream, unsigned event, ActionPtr *action) {
  return bindEvent<&CudaStreams::record>(streams_, stream, event, action);
}

Status CudaDevice::wait(unsigned stream, unsigned event, ActionPtr *action) {
  return bindEvent<&CudaStreams::wait>(streams_, stream, event, action);
}

} // namespace cleave::rt
