#include "runtime/device/RankImages.h"

#include "runtime/base/HumanUnits.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace cleave::rt {

RankImages::~RankImages() {
  for (size_t i = 0; i < images_.size(); ++i)
    if (images_[i].base && images_[i].base != bound_->regions[i].base)
      ::munmap(images_[i].base, std::max<size_t>(1, images_[i].bytes * images_[i].frames));
}

Status RankImages::make(const fb::Plan &plan, const BoundPlan &bound, Device &device) {
  plan_ = &plan;
  bound_ = &bound;
  device_ = &device;
  images_ = bound.regions;
  isShared_ = device.sharesMemory();
  if (isShared_)
    return Status::ok();
  for (unsigned i = 0; i < images_.size(); ++i) {
    const fb::Region &region = *plan.regions()->Get(i);
    if (region.space() == fb::Space::host)
      continue;
    images_[i].base = nullptr;
    if (!isOfHost(region.kind()))
      continue;
    size_t bytes = std::max<size_t>(1, images_[i].bytes * images_[i].frames);
    void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return {Code::OutOfMemory, "cannot allocate " + exactBytesText(bytes) + ": " + std::strerror(errno)};
    images_[i].base = static_cast<std::byte *>(memory);
  }
  return makeScalars();
}

Status RankImages::makeScalars() {
  size_t bytes = 0;
  for (size_t i = 0; i < lengthOf(plan_->states()); ++i) {
    const fb::State &state = *plan_->states()->Get(i);
    if (state.role() != fb::Role::scalar)
      continue;
    Bytes image{images_[state.region()].base + state.offset(), stateShardBytes(*plan_, state)};
    if (image.size == 0)
      continue;
    Scalar scalar{image, nullptr, nullptr};
    CLEAVE_TRY(findOnDevice(image, &scalar.there));
    if (!scalar.there)
      continue;
    scalars_.push_back(scalar);
    bytes += image.size;
  }
  if (scalars_.empty())
    return Status::ok();
  std::byte *next = nullptr;
  CLEAVE_TRY(device_->allocate(fb::Space::host, bytes, &next).in("memory for scalars"));
  for (Scalar &scalar : scalars_) {
    scalar.between = next;
    next += scalar.image.size;
  }
  return Status::ok();
}

Status RankImages::findOnDevice(Bytes image, std::byte **there) const {
  *there = nullptr;
  for (size_t i = 0; i < images_.size(); ++i) {
    const Address &mine = images_[i];
    if (!mine.base || image.data < mine.base || image.data + image.size > mine.base + mine.bytes * mine.frames)
      continue;
    if (mine.base != bound_->regions[i].base) // otherwise it is pinned memory of the host
      *there = bound_->regions[i].base + (image.data - mine.base);
    return Status::ok();
  }
  return internal("bytes that are no image of a region");
}

Status RankImages::move(Bytes image, bool toDevice) {
  if (isShared_ || image.size == 0)
    return Status::ok();
  std::byte *there = nullptr;
  CLEAVE_TRY(findOnDevice(image, &there));
  if (!there)
    return Status::ok();
  return toDevice ? device_->upload(there, image.data, image.size) : device_->download(image.data, there, image.size);
}

Status RankImages::feed(Bytes port, const std::byte *source) {
  if (port.size == 0)
    return Status::ok();
  std::byte *there = nullptr;
  if (!isShared_)
    CLEAVE_TRY(findOnDevice(port, &there));
  if (!there) {
    std::memcpy(port.data, source, port.size);
    return Status::ok();
  }
  OnDevice thread(*device_);
  CLEAVE_TRY(Status(thread.status()));
  return device_->upload(there, source, port.size);
}

Status RankImages::moveOne(Bytes image, bool toDevice) {
  if (isShared_)
    return Status::ok();
  OnDevice thread(*device_);
  CLEAVE_TRY(Status(thread.status()));
  isBetweenCurrent_ = isBetweenCurrent_ && !toDevice;
  CLEAVE_TRY(move(image, toDevice));
  return device_->synchronize();
}

Status RankImages::push(Bytes image) { return moveOne(image, /*toDevice=*/true); }
Status RankImages::pull(Bytes image) { return moveOne(image, /*toDevice=*/false); }

Status RankImages::movePorts(const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *ports, bool toDevice) {
  for (size_t i = 0; i < lengthOf(ports); ++i) {
    const fb::Port &port = *ports->Get(i);
    if (port.absent())
      continue;
    const Address &region = images_[port.region()];
    for (unsigned frame = 0; frame < region.frames; ++frame)
      CLEAVE_TRY(move({region.at(Frames::ofMicroBatch(frame)) + port.offset(), portBytes(port)}, toDevice));
  }
  return Status::ok();
}

// The last run has ended, and with it all copies from and to `between`. After a run that has failed, `between` may
// differ from the device's memory. Then the next run uploads all scalars.
Status RankImages::uploadScalars() {
  bool isCurrent = std::exchange(isBetweenCurrent_, false);
  for (const Scalar &scalar : scalars_) {
    const auto &[data, size] = scalar.image;
    if (isCurrent && std::memcmp(scalar.between, data, size) == 0)
      continue;
    std::memcpy(scalar.between, data, size);
    CLEAVE_TRY(device_->upload(scalar.there, scalar.between, size));
  }
  return Status::ok();
}

Status RankImages::downloadScalars() {
  for (const Scalar &scalar : scalars_)
    CLEAVE_TRY(device_->download(scalar.between, scalar.there, scalar.image.size));
  return Status::ok();
}

Status RankImages::beforeRun(const fb::Program &program, Rank::Inputs inputs) {
  if (isShared_)
    return Status::ok();
  OnDevice thread(*device_);
  CLEAVE_TRY(Status(thread.status()));
  CLEAVE_TRY(uploadScalars());
  return inputs == Rank::Inputs::Fed ? Status::ok() : movePorts(program.inputs(), /*toDevice=*/true);
}

Status RankImages::afterRun(const fb::Program &program) {
  if (isShared_)
    return Status::ok();
  OnDevice thread(*device_);
  CLEAVE_TRY(Status(thread.status()));
  CLEAVE_TRY(downloadScalars());
  CLEAVE_TRY(movePorts(program.outputs(), /*toDevice=*/false));
  CLEAVE_TRY(device_->synchronize());
  for (const Scalar &scalar : scalars_)
    std::memcpy(scalar.image.data, scalar.between, scalar.image.size);
  isBetweenCurrent_ = true;
  return Status::ok();
}

} // namespace cleave::rt
