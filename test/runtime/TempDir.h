// A directory for one test. The destructor removes it with everything in it.
#ifndef CLEAVE_TEST_RUNTIME_TEMPDIR_H
#define CLEAVE_TEST_RUNTIME_TEMPDIR_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace cleave::test {

class TempDir {
public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cleave-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir &) = delete;

  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }

  // Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

private:
  std::string path_;
};

} // namespace cleave::test

#endif
