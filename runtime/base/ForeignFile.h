// Recognizes the format of a file that was given in place of another one, by its first bytes.
//
// People give `w.pt` where a safetensors file or an ONNX model is expected. A parser's own error ("a header of 7 PB")
// does not help them. A message that names the format does, if it also says how to make a file of the expected format.
#ifndef CLEAVE_RUNTIME_BASE_FOREIGNFILE_H
#define CLEAVE_RUNTIME_BASE_FOREIGNFILE_H

#include <string_view>

namespace cleave::rt {

enum class FileFormat {
  Unknown,
  TorchSave,
  NumpyArchive,
  Archive,
  Numpy,
  Safetensors,
  Hdf5,
  Gguf,
  Program,
  Plan,
  Json,
  Html,
  LfsPointer
};

// Decides by the first bytes. torch.save and numpy.savez both write zip archives, so those are told apart by the names
// of members.
inline FileFormat formatOf(std::string_view bytes) {
  auto begins = [&](std::string_view magic) { return bytes.substr(0, magic.size()) == magic; };
  auto names = [&](std::string_view text) { return bytes.substr(0, 512).find(text) != std::string_view::npos; };
  // Eight bytes with the size of the header, of which the upper ones are 0; then JSON. It is tested first, because a size
  // may have the bytes of any other mark: a header of 640 bytes begins as a pickle does.
  if (bytes.size() > 9 && bytes[8] == '{' && bytes.substr(5, 3) == std::string_view("\0\0\0", 3))
    return FileFormat::Safetensors;
  if (begins("PK\x03\x04"))
    return names(".npy")                             ? FileFormat::NumpyArchive
           : names(".onnx") || names(".safetensors") ? FileFormat::Archive
                                                     : FileFormat::TorchSave;
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) // pickle, as torch.save wrote before 1.6
    return FileFormat::TorchSave;
  if (begins("\x93NUMPY"))
    return FileFormat::Numpy;
  if (begins("\x89HDF\r\n"))
    return FileFormat::Hdf5;
  if (begins("GGUF"))
    return FileFormat::Gguf;
  if (begins("\x7f" "ELF"))
    return FileFormat::Program;
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "CLVP") // a FlatBuffers file has its identifier here (Plan.fbs)
    return FileFormat::Plan;
  if (begins("\x1f\x8b") || begins("BZh") || begins("\xfd" "7zXZ") || begins("\x28\xb5\x2f\xfd"))
    return FileFormat::Archive;
  if (begins("version https://git-lfs"))
    return FileFormat::LfsPointer;
  if (begins("<!DOCTYPE html") || begins("<!doctype html") || begins("<html"))
    return FileFormat::Html;
  size_t first = bytes.find_first_not_of(" \t\r\n"); // no ONNX file begins with a brace: it has no field 15
  if (first != std::string_view::npos && bytes[first] == '{')
    return FileFormat::Json;
  return FileFormat::Unknown;
}

// Such as "a file of torch.save (PyTorch)". Empty for Unknown.
inline const char *describeFormat(FileFormat format) {
  switch (format) {
  case FileFormat::TorchSave:
    return "a file of PyTorch (torch.save, torch.jit.save or torch.export.save)";
  case FileFormat::NumpyArchive: return "an archive of NumPy arrays (.npz)";
  case FileFormat::Archive: return "a compressed file or an archive (zip, gzip, bzip2, xz or zstd); unpack it first";
  case FileFormat::Numpy: return "a NumPy array (.npy)";
  case FileFormat::Safetensors: return "a safetensors file";
  case FileFormat::Hdf5: return "an HDF5 file, as Keras writes";
  case FileFormat::Gguf: return "a GGUF file, as llama.cpp reads";
  case FileFormat::Program: return "a program or library";
  case FileFormat::Plan: return "a plan, as `cleave compile --emit plan` writes";
  case FileFormat::Json: return "a JSON file";
  case FileFormat::Html: return "a web page: the download brought a page in place of the file";
  case FileFormat::LfsPointer: return "a pointer of Git LFS, without the file that it stands for (`git lfs pull` brings it)";
  case FileFormat::Unknown: break;
  }
  return "";
}

} // namespace cleave::rt

#endif
