// The samples of one input, in mapped files that are never copied as a whole.
//
// Every kind of file is treated as one row of elements. The row consists of pieces, which are the files one after the
// other. Sample i is the run of `length` elements at shift + i*stride:
//
//   array [S, 28, 28]            length 784, stride 784, shift 0
//   stream, window=64, shift=1   length 64,  stride 64,  shift 1      (a window may span two files)
//
// An input without a batch dimension has one sample, which is used for every batch.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_DATASOURCE_H
#define CLEAVE_RUNTIME_TRAIN_DATA_DATASOURCE_H

#include "runtime/state/SafeTensors.h"
#include "runtime/train/data/Convert.h"
#include "runtime/train/data/DataSpec.h"
#include "runtime/train/data/Npz.h"

namespace cleave::rt {

// The properties of an input port that matter for its data.
struct InputType {
  std::string name;
  ElementType type = ElementType::f32;
  Shape sample;        // without the batch dimension
  bool batched = true; // false: the same value for every sample
};

// Fails if the batch dimension is not dimension 0.
Status inputType(const fb::Port &port, InputType *result);

class DataSource {
public:
  static Status open(const DataSpec &spec, const InputType &input, DataSource *result);
  // The same in two steps. The first one reads only headers, so that a mistake in the shape of one input is found before
  // gigabytes of another one are unpacked or verified. Only the number of samples is known before the second one.
  static Status openHeaders(const DataSpec &spec, const InputType &input, DataSource *result);
  Status load();

  // False if there are no data: an input that no wanted output depends on may have none.
  bool isOpen() const { return !pieces_.empty(); }
  const InputType &input() const { return input_; }
  uint64_t samples() const { return samples_; }
  uint64_t stride() const { return stride_; } // elements from one sample to the next
  size_t sampleBytes() const { return sampleBytes_; }
  // Writes sample i as the port's type. If the input has no batch dimension, i may be any number.
  void read(uint64_t i, std::byte *target) const;
  uint64_t sampleElements() const { return length_; }
  // Adds a hash of sample i as the file holds it, or of its first `most` bytes, to `hash`.
  uint64_t hashOf(uint64_t i, size_t most, uint64_t hash) const;
  // For messages: the place of an element of sample i, as "labels.npy, sample 3" or "text.bin, element 4711".
  std::string placeOf(uint64_t i, uint64_t element) const;
  // The bytes of the pages that reading sample i maps at most. `mapped` is the end of those that the last read has
  // mapped. Samples that are read one after the other share pages, which count once.
  size_t mappedBy(uint64_t i, uintptr_t *mapped) const;
  // The same for all samples together.
  size_t mostMapped() const;
  // The memory of unpacked archives, and of what they were unpacked from.
  size_t unpackedBytes() const;
  // Releases the pages that were read so far. Unpacked archives stay in memory.
  void dropPages() const;

private:
  struct Piece {
    const std::byte *data;
    uint64_t first, count; // elements
    std::string file;
  };
  const Piece &pieceAt(uint64_t element) const;
  // Calls visit(piece, data, count, done) for the runs, in one file each, of the first elements of sample i.
  template <typename Visit> void forEachRun(uint64_t i, uint64_t elements, Visit visit) const;
  Status openStream(const DataSpec &spec);
  Status openArrays(const DataSpec &spec);
  Status openArray(const std::string &file, const std::string &key, TensorView *view);
  Status addArray(const TensorView &view);
  Status unpackArchives();
  Status verifySafeTensors();
  Status chooseConversion(const DataSpec &spec);

  InputType input_;
  ElementType type_ = ElementType::f32;
  std::vector<Piece> pieces_;
  uint64_t elements_ = 0, length_ = 0, stride_ = 0, shift_ = 0, samples_ = 0;
  size_t sampleBytes_ = 0;
  bool isStream_ = false;
  ConvertFn convert_ = nullptr;
  Normalization normalization_;
  // What load() has still to read.
  struct Packed {
    size_t archive, piece; // piece: SIZE_MAX if the array has no elements
    std::string key;
  };
  struct Unverified {
    size_t file;
    TensorView view;
  };
  std::vector<Packed> packed_;
  std::vector<Unverified> unverified_;
  // The memory that the pieces refer to.
  std::vector<FileMapping> files_;
  std::vector<SafeTensors> safetensors_;
  std::vector<Npz> archives_;
};

} // namespace cleave::rt

#endif
