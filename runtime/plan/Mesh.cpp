#include "runtime/plan/Mesh.h"

namespace cleave::rt {

std::string meshText(const fb::Plan &plan) {
  std::string text;
  for (size_t i = 0; i < lengthOf(plan.axes()); ++i)
    text += (i ? "," : "") + plan.axes()->Get(i)->name()->str() + "=" + std::to_string(plan.axes()->Get(i)->size());
  return text.empty() ? "one rank" : text;
}

std::vector<uint32_t> meshOf(const fb::Plan &plan) {
  std::vector<uint32_t> mesh;
  for (size_t i = 0; i < lengthOf(plan.axes()); ++i)
    mesh.push_back(plan.axes()->Get(i)->size());
  return mesh;
}

std::vector<unsigned> meshCoordinates(const std::vector<uint32_t> &mesh, unsigned rank) {
  std::vector<unsigned> coordinates(mesh.size());
  for (size_t i = mesh.size(); i-- > 0; rank /= mesh[i])
    coordinates[i] = rank % mesh[i];
  return coordinates;
}

int rankAt(const std::vector<uint32_t> &mesh, const std::vector<unsigned> &coordinates) {
  unsigned rank = 0;
  for (size_t i = 0; i < mesh.size(); ++i)
    rank = rank * mesh[i] + coordinates[i];
  return static_cast<int>(rank);
}

int peerOf(const fb::Plan &plan, unsigned rank, int64_t axis, int64_t offset) {
  std::vector<uint32_t> mesh = meshOf(plan);
  std::vector<unsigned> coordinates = meshCoordinates(mesh, rank);
  auto at = static_cast<size_t>(axis);
  int64_t size = mesh[at];
  coordinates[at] = static_cast<unsigned>(((coordinates[at] + offset) % size + size) % size);
  return rankAt(mesh, coordinates);
}

unsigned linearCoordinate(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes,
                          const std::vector<unsigned> &coordinates) {
  unsigned linear = 0;
  for (size_t i = 0; i < lengthOf(axes); ++i)
    linear = linear * plan.axes()->Get(axes->Get(i))->size() + coordinates[axes->Get(i)];
  return linear;
}

StateRange storedRange(const fb::Plan &plan, const fb::State &state, const std::vector<unsigned> &coordinates) {
  uint64_t count = state.elements() / axesSize(plan, state.split_axes());
  return {linearCoordinate(plan, state.split_axes(), coordinates) * count, count};
}

} // namespace cleave::rt
