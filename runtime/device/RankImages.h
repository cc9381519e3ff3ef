// Images in the host's memory of regions on a device whose memory the host cannot touch (Rank::push).
#ifndef CLEAVE_RUNTIME_DEVICE_RANKIMAGES_H
#define CLEAVE_RUNTIME_DEVICE_RANKIMAGES_H

#include "runtime/device/BoundPlan.h"
#include "runtime/device/Rank.h"

namespace cleave::rt {

class RankImages {
public:
  RankImages() = default;
  ~RankImages();
  RankImages(const RankImages &) = delete;
  RankImages &operator=(const RankImages &) = delete;

  // Makes an image of each device region that the host reads or writes. Pages that nobody touches use no memory.
  Status make(const fb::Plan &plan, const BoundPlan &bound, Device &device);

  // Returns where the host finds a region: in its image, or in the region itself if it has no image.
  const Address &region(unsigned index) const { return images_[index]; }
  Status push(Bytes image);
  Status pull(Bytes image);
  // Rank::feed() for the bytes of one port.
  Status feed(Bytes port, const std::byte *source);
  // Exchange bytes with the device around each run: scalars, and inputs of images, before it; scalars and outputs after
  // it. Scalars go through pinned memory of the host, so that the host waits only once, at the end of afterRun(). Only
  // scalars that the host has changed are copied to the device.
  Status beforeRun(const fb::Program &program, Rank::Inputs inputs);
  Status afterRun(const fb::Program &program);

private:
  Status makeScalars();
  // Finds the bytes on the device that belong to an image. Null if the host and the device share these bytes.
  Status findOnDevice(Bytes image, std::byte **there) const;
  // Copies in order with the actions of a run. The caller must have entered the device's thread.
  Status move(Bytes image, bool toDevice);
  Status moveOne(Bytes image, bool toDevice);
  Status movePorts(const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *ports, bool toDevice);
  Status uploadScalars();
  Status downloadScalars();

  const fb::Plan *plan_ = nullptr;
  const BoundPlan *bound_ = nullptr;
  Device *device_ = nullptr;
  bool isShared_ = true;
  std::vector<Address> images_;
  struct Scalar {
    Bytes image;
    std::byte *there;   // on the device
    std::byte *between; // in pinned memory of the host
  };
  std::vector<Scalar> scalars_;
  bool isBetweenCurrent_ = false; // the memory `between` equals the device's memory
};

} // namespace cleave::rt

#endif
