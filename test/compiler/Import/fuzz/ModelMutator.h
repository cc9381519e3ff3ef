// Makes well-formed protobufs with wrong content, for cleave-import-fuzz.
#ifndef CLEAVE_TEST_COMPILER_IMPORT_FUZZ_MODELMUTATOR_H
#define CLEAVE_TEST_COMPILER_IMPORT_FUZZ_MODELMUTATOR_H

#include "compiler/Import/ONNX/File/Proto.h"

#include <random>

namespace cleave::fuzz {

class Random {
public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t bound) { return bound ? engine_() % bound : 0; }
  template <typename List> const auto &pick(const List &list) { return list[below(std::size(list))]; }
  int64_t integer(); // mostly small, sometimes at a limit of some type

private:
  std::mt19937_64 engine_;
};

// Replaces external data by zeros in the file. Returns false if that would be more than a MB.
bool embedWeights(onnx::ModelProto &model);

// A graph of one or two operators of the importer's table, with random inputs and attributes.
onnx::ModelProto randomOperator(Random &random);

// Changes a few fields anywhere: changes values; removes, doubles or exchanges elements; replaces names and operators.
void mutate(onnx::ModelProto &model, Random &random);

} // namespace cleave::fuzz

#endif
