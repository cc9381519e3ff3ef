// Images in the host's memory of regions that lie on a device whose memory the host cannot touch (Rank::push).
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

  // Makes an image of each region of the device that the host reads or writes. Untouched pages cost nothing.
  Status make(const fb::Plan &plan, const BoundPlan &bound, Device &device);

  // Where the host finds a region: in its image, or, without one, in the region itself.
  const Address &region(unsigned index) const { return images_[index]; }
  Status push(Bytes image);
  Status pull(Bytes image);
  // Rank::feed, of a port's bytes.
  Status feed(Bytes port, const std::byte *source);
  // What a program and the host exchange at each run: its inputs and the scalars before it; scalars and outputs after
  // it. Scalars go through memory that the device copies to and from by itself, so that the host waits once, at the end
  // of afterRun(), and only those go to the device that the host has changed.
  Status beforeRun(const fb::Program &program);
  Status afterRun(const fb::Program &program);

private:
  Status makeScalars();
  // Where the bytes of an image lie on the device; null for what the host and the device share.
  Status findOnDevice(Bytes image, std::byte **there) const;
  // On the device's thread; in order with a run's actions.
  Status move(Bytes image, bool toDevice);
  Status moveOne(Bytes image, bool toDevice);
  Status movePorts(const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *ports, bool toDevice);
  Status uploadScalars();
  Status downloadScalars();

  const fb::Plan *plan_ = nullptr;
  const BoundPlan *bound_ = nullptr;
  Device *device_ = nullptr;
  bool isShared_ = true;
  bool isFed_ = false; // the inputs of the next run
  std::vector<Address> images_;
  struct Scalar {
    Bytes image;
    std::byte *there;   // on the device
    std::byte *between; // in memory of the host that the device copies to and from
  };
  std::vector<Scalar> scalars_;
  bool isBetweenCurrent_ = false; // it holds what the device does
};

} // namespace cleave::rt

#endif
