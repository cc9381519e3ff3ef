#include "test/cuda/emulated/nccl/ProcessClique.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

extern "C" int cuCtxGetDevice(int *device);

namespace cleave::emulated::nccl {

namespace {

namespace fs = std::filesystem;

std::string folderOf(const std::string &id) {
  const char *base = getenv("CLEAVE_EMULATED_NCCL_FOLDER");
  return std::string(base && *base ? base : "/dev/shm") + "/" + id;
}

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

void put(const std::string &path, const void *head, size_t headBytes, const void *body = nullptr, size_t bodyBytes = 0) {
  std::string draft = path + ".draft" + std::to_string(getpid());
  {
    std::ofstream file(draft, std::ios::binary);
    file.write(static_cast<const char *>(head), std::streamsize(headBytes));
    if (bodyBytes)
      file.write(static_cast<const char *>(body), std::streamsize(bodyBytes));
  }
  rename(draft.c_str(), path.c_str());
}

void touch(const std::string &path) { put(path, "", 0); }

bool await(const Stop &stop, const std::function<bool()> &ready) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limitSeconds());
  while (!stop && std::chrono::steady_clock::now() < end) {
    if (ready())
      return !stop;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

void putCall(const std::string &path, const Call &call) {
  put(path, &call, sizeof call, call.sendHost, call.sendHost ? call.sendBytes : 0);
}

// Reads a call. In `file`, its bytes follow it.
Call getCall(const std::string &path, std::vector<char> &file) {
  std::ifstream in(path, std::ios::binary);
  file.assign(std::istreambuf_iterator<char>(in), {});
  Call call;
  memcpy(static_cast<void *>(&call), file.data(), sizeof call);
  call.sendHost = file.size() > sizeof call ? file.data() + sizeof call : nullptr;
  return call;
}

std::string nameOf(Key key, int rank) {
  return std::to_string(key.number) + "-" + std::to_string(key.replay) + "-" + std::to_string(rank);
}

} // namespace

ProcessClique::ProcessClique(std::string folder, std::vector<int> processes)
    : Clique(int(processes.size())), folder(std::move(folder)), processes(std::move(processes)) {
  std::error_code ignored;
  fs::create_directories(this->folder, ignored);
}

std::vector<Call> ProcessClique::meet(Key key, int rank, const Call &call, const Stop &stop, std::string &why) {
  putCall(path("call-" + nameOf(key, rank)), call);
  std::vector<Call> calls(processes.size());
  for (int r = 0; r < size; r++) {
    std::string name = "call-" + nameOf(key, r);
    if (!await(stop, [&] { return exists(path(name)); })) {
      why = stop ? "" : std::string(nccl::nameOf(call.kind)) + " of rank " + std::to_string(rank) + " hangs: missing ranks";
      for (int other = 0; !stop && other < size; other++)
        if (!exists(path("call-" + nameOf(key, other))))
          why += " " + std::to_string(other);
      return {};
    }
    std::lock_guard<std::mutex> lock(mutex);
    calls[size_t(r)] = getCall(path(name), received[name + "/" + std::to_string(rank)]);
  }
  why = disagreement(calls, rank);
  return why.empty() ? calls : std::vector<Call>();
}

bool ProcessClique::finish(Key key, int rank, int phase, const Stop &stop) {
  std::string done = "done" + std::to_string(phase) + "-";
  touch(path(done + nameOf(key, rank)));
  for (int r = 0; r < size; r++)
    if (!await(stop, [&] { return exists(path(done + nameOf(key, r))); }))
      return false;
  if (phase == 1) // all ranks have read the bytes of this rank
    unlink(path("call-" + nameOf(key, rank)).c_str());
  std::lock_guard<std::mutex> lock(mutex);
  for (int r = 0; phase == 2 && r < size; r++)
    received.erase("call-" + nameOf(key, r) + "/" + std::to_string(rank));
  return true;
}

static std::string message(int from, int to, uint64_t number) {
  return std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number);
}

void ProcessClique::offer(int from, int to, const Call &call) {
  std::lock_guard<std::mutex> lock(mutex);
  putCall(path("offer-" + message(from, to, offered[{from, to}]++)), call);
}

bool ProcessClique::take(int from, int to, const Call &want, void *data, const Stop &stop, std::string &why) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex);
    number = taken[{from, to}]++;
  }
  std::string offered = path("offer-" + message(from, to, number));
  if (!await(stop, [&] { return exists(offered); })) {
    if (!stop)
      why = "ncclRecv of rank " + std::to_string(to) + " hangs: rank " + std::to_string(from) + " sends nothing";
    return false;
  }
  std::vector<char> file;
  Call sent = getCall(offered, file);
  if (sent.count * bytesOf(sent.type) != want.count * bytesOf(want.type)) {
    why = "ncclSend of rank " + std::to_string(from) + " has " + std::to_string(sent.count) +
          " elements, ncclRecv of rank " + std::to_string(to) + " wants " + std::to_string(want.count);
    return false;
  }
  memcpy(data, sent.sendHost, sent.count * bytesOf(sent.type));
  unlink(offered.c_str());
  touch(path("taken-" + message(from, to, number)));
  return true;
}

bool ProcessClique::waitTaken(int from, int to, const Stop &stop) {
  uint64_t count;
  {
    std::lock_guard<std::mutex> lock(mutex);
    count = offered[{from, to}];
  }
  return count == 0 || await(stop, [&] { return exists(path("taken-" + message(from, to, count - 1))); });
}

void ProcessClique::abort(int rank) { touch(path("gone-" + std::to_string(rank))); }

bool ProcessClique::anyGone() {
  for (int r = 0; r < size; r++) {
    bool isDead = kill(processes[size_t(r)], 0) != 0 && !exists(path("left-" + std::to_string(r)));
    if (isDead || exists(path("gone-" + std::to_string(r))))
      return true;
  }
  return false;
}

void ProcessClique::leave(int rank) {
  touch(path("left-" + std::to_string(rank)));
  for (int r = 0; r < size; r++)
    if (!exists(path("left-" + std::to_string(r))))
      return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::shared_ptr<Clique> ProcessClique::part(const std::string &id, const std::vector<int> &members) const {
  std::vector<int> chosen;
  for (int member : members)
    chosen.push_back(processes[size_t(member)]);
  return std::make_shared<ProcessClique>(folderOf(id), chosen);
}

void Gathering::announce() {
  std::error_code ignored;
  fs::create_directories(folderOf(id), ignored);
  int device = -1;
  cuCtxGetDevice(&device);
  std::string text = std::to_string(getpid()) + " " + std::to_string(size) + " " + std::to_string(device);
  put(folderOf(id) + "/rank-" + std::to_string(rank), text.data(), text.size());
}

// Ranks of one process leave only these files in the folder. The last one of them that reads them removes them.
std::shared_ptr<Clique> Gathering::wait(const Stop &stop, std::string &why) {
  std::vector<int> processes, devices;
  bool isOneProcess = true;
  std::string folder = folderOf(id);
  for (int r = 0; r < size; r++) {
    std::string file = folder + "/rank-" + std::to_string(r);
    if (!await(stop, [&] { return exists(file); })) {
      why = "not all ranks came to ncclCommInitRank";
      return nullptr;
    }
    int process = 0, theirs = 0, device = 0;
    std::ifstream(file) >> process >> theirs >> device;
    if (theirs != size) {
      why = "ranks disagree about the size of the communicator";
      return nullptr;
    }
    processes.push_back(process);
    devices.push_back(device);
    isOneProcess = isOneProcess && process == getpid();
  }
  for (int r = 0; r < size && !isOneProcess; r++)
    for (int other = 0; other < r; other++)
      if (devices[size_t(r)] == devices[size_t(other)]) {
        sharesDevice = true;
        why = "Duplicate GPU detected : rank " + std::to_string(r) + " and rank " + std::to_string(other) +
              " both on CUDA device " + std::to_string(devices[size_t(r)]);
        return nullptr;
      }
  auto clique = std::make_shared<ProcessClique>(folder, processes);
  if (!isOneProcess)
    return clique;
  std::shared_ptr<Clique> threads = threadClique(id, size);
  clique->leave(rank);
  return threads;
}

} // namespace cleave::emulated::nccl
