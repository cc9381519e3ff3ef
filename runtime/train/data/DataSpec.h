// The syntax of --data and --input:
//
//   x=a.npy                              an array; dimension 0 counts the samples
//   x=a.npy,b.npy                        several arrays, one after the other
//   x=mnist.npz,key=images               an array of an archive, or of a safetensors file; key defaults to the input's
//   tokens=text.bin:u8,window=64,shift=0 a flat stream (u8, u16 or u32): sample i is elements
//   labels=text.bin:u8,window=64,shift=1 [i*stride + shift, i*stride + shift + window); stride defaults to window
//   image=x.npy,mean=0.1307,std=0.3081   (v - mean) / std; u8 pixels are first divided by 255. One value per channel:
//                                        mean=0.485/0.456/0.406; a single one is for all channels
//
// A backslash makes the next character a plain one, so that any name can be written: x=lr\=1\,2/a.npy
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_DATASPEC_H
#define CLEAVE_RUNTIME_TRAIN_DATA_DATASPEC_H

#include "runtime/base/Status.h"
#include "runtime/state/ElementType.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

struct DataSpec {
  std::string input;
  std::vector<std::string> files;
  std::string key;                   // of an archive; empty: the input's name
  std::optional<ElementType> stream; // element type of a flat stream
  uint64_t window = 0, shift = 0, stride = 0;
  std::vector<double> mean, std;
};

// The inputs of the model, and the option that gives their data, for messages.
struct DataInputs {
  std::vector<std::string> names;
  std::string option;
};

Status parseDataSpec(const std::string &text, DataSpec *result, const DataInputs &inputs = {});

// Returns all parts of the specs except the files: "tokens:u8,window=64 labels:u8,window=64,shift=1". Processes of a
// run must agree on this text, and a resumed run reports a change of it. Paths may differ.
std::string textWithoutFiles(const std::vector<std::string> &specs);

} // namespace cleave::rt

#endif
