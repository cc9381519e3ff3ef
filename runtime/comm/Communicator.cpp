#include "runtime/comm/Communicator.h"

#include "runtime/base/Trace.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <vector>

namespace cleave::rt {

Status checkCommVariables() {
  for (const EnvNumber &variable : {kCommTimeout, kCommHeartbeat, kCommDelay, kCommRate})
    CLEAVE_TRY(checkEnvNumber(variable));
  return Status::ok();
}

Communicator::Communicator(int rank, int size)
    : rank_(rank), size_(size), timeoutSeconds_(envNumber(kCommTimeout)), delaySeconds_(envNumber(kCommDelay) * 1e-6),
      bytesPerSecond_(envNumber(kCommRate)) {}

Status Communicator::exchange(const Exchange &step) {
  CLEAVE_TRY(doExchange(step));
  if (step.to >= 0 && step.channel < kChannels)
    bytesSent_.fetch_add(step.sendBytes, std::memory_order_relaxed);
  if (delaySeconds_ > 0 || bytesPerSecond_ > 0)
    stretch(step.to >= 0 ? step.sendBytes : step.receiveBytes);
  return Status::ok();
}

// It starts when both sides have arrived. Otherwise a receive that waits for its sender would have no delay.
void Communicator::stretch(size_t bytes) const {
  double seconds = delaySeconds_ + (bytesPerSecond_ > 0 ? static_cast<double>(bytes) / bytesPerSecond_ : 0);
  uint64_t end = TraceSink::now() + static_cast<uint64_t>(std::min(seconds, kLongestSeconds) * 1e9);
  timespec until{static_cast<time_t>(end / 1'000'000'000), static_cast<long>(end % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

Status Communicator::send(int to, const void *data, size_t bytes, unsigned channel) {
  Exchange step;
  step.to = to;
  step.sendData = data;
  step.sendBytes = bytes;
  step.channel = channel;
  return exchange(step);
}

Status Communicator::receive(int from, void *data, size_t bytes, unsigned channel) {
  Exchange step;
  step.from = from;
  step.receiveData = data;
  step.receiveBytes = bytes;
  step.channel = channel;
  return exchange(step);
}

// Dissemination: after round k, every rank has heard from 2^(k+1) ranks, directly or through others.
Status Communicator::barrier() {
  for (int distance = 1; distance < size_; distance *= 2) {
    Exchange step;
    step.to = (rank_ + distance) % size_;
    step.from = (rank_ - distance + size_) % size_;
    CLEAVE_TRY(exchange(step).in("barrier"));
  }
  return Status::ok();
}

Status Communicator::agree(bool mine, bool *all, unsigned channel) {
  uint32_t failed = 0;
  CLEAVE_TRY(maximum(!mine, &failed, channel));
  *all = !failed;
  return Status::ok();
}

// The rounds of the barrier. Each rank passes on the largest number so far, so hearing of a rank twice changes nothing.
Status Communicator::maximum(uint32_t mine, uint32_t *largest, unsigned channel) {
  *largest = mine;
  for (int distance = 1; distance < size_; distance *= 2) {
    uint32_t said = *largest, heard = 0;
    Exchange step;
    step.to = (rank_ + distance) % size_;
    step.sendData = &said;
    step.sendBytes = sizeof said;
    step.from = (rank_ - distance + size_) % size_;
    step.receiveData = &heard;
    step.receiveBytes = sizeof heard;
    step.channel = channel;
    CLEAVE_TRY(exchange(step).in("a comparison of all processes"));
    *largest = std::max(*largest, heard);
  }
  return Status::ok();
}

// Around a ring: each rank passes on the part that came last.
Status Communicator::allGather(const void *mine, size_t bytes, void *all, unsigned channel) {
  auto *parts = static_cast<std::byte *>(all);
  auto part = [&](int rank) { return parts + static_cast<size_t>((rank + size_) % size_) * bytes; };
  std::memcpy(part(rank_), mine, bytes);
  for (int s = 0; s + 1 < size_; ++s) {
    Exchange step;
    step.to = (rank_ + 1) % size_;
    step.sendData = part(rank_ - s);
    step.sendBytes = bytes;
    step.from = (rank_ - 1 + size_) % size_;
    step.receiveData = part(rank_ - 1 - s);
    step.receiveBytes = bytes;
    step.channel = channel;
    CLEAVE_TRY(exchange(step).in("gathering what all ranks say"));
  }
  return Status::ok();
}

Status Communicator::firstText(std::string *text, unsigned channel) {
  using Text = std::array<char, 1000>;
  Text mine{}; // ends with a zero
  text->copy(mine.data(), mine.size() - 1);
  std::vector<Text> all(static_cast<size_t>(size_));
  CLEAVE_TRY(allGather(&mine, sizeof mine, all.data(), channel));
  auto found = std::find_if(all.begin(), all.end(), [](const Text &each) { return each[0] != '\0'; });
  *text = found == all.end() ? "" : found->data();
  return Status::ok();
}

// Along a binomial tree: in round k, the ranks below 2^k (counted from the root) send to the 2^k ranks above them.
Status Communicator::broadcast(void *data, size_t bytes, int root, unsigned channel) {
  int place = (rank_ - root + size_) % size_;
  for (int distance = 1; distance < size_; distance *= 2) {
    if (place < distance && place + distance < size_)
      CLEAVE_TRY(send((rank_ + distance) % size_, data, bytes, channel).in("broadcast"));
    else if (place >= distance && place < 2 * distance)
      CLEAVE_TRY(receive((rank_ - distance + size_) % size_, data, bytes, channel).in("broadcast"));
  }
  return Status::ok();
}

} // namespace cleave::rt
