// Runs a compiled model inside a program of one's own: no Python, no compiler, one object file and the runtime library.
//
//   cleave compile gpt-nano.onnx -o gpt.o --emit object --dim batch=4        writes gpt.o and gpt.h
//   link-cpp                                                                 prints the outputs for a made-up batch

#include "cleave/cleave.h"
#include "gpt.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void check(cleave_code code) {
  if (code == CLEAVE_OK)
    return;
  std::fprintf(stderr, "link-cpp: %s\n", cleave_last_error());
  std::exit(1);
}

std::string shapeOf(const cleave_tensor_info &tensor) {
  std::string text;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    text += (i ? "x" : "") + std::to_string(tensor.shape[i]);
  return text.empty() ? "scalar" : text;
}

} // namespace

int main() {
  cleave_session *session = nullptr;
  check(cleave_session_create(&cleave_model_gpt, nullptr, &session));

  // Every input gets a simple ramp; integer inputs (tokens, labels) stay zero.
  cleave_tensor_info tensor;
  for (size_t i = 0; cleave_describe_input(session, "infer", i, &tensor) == CLEAVE_OK; ++i) {
    std::vector<char> bytes(tensor.bytes);
    if (tensor.dtype == CLEAVE_F32)
      for (size_t j = 0; j < tensor.bytes / sizeof(float); ++j)
        reinterpret_cast<float *>(bytes.data())[j] = 0.01f * static_cast<float>(j % 100);
    check(cleave_set_input(session, "infer", tensor.name, bytes.data(), bytes.size()));
    std::printf("input  %s: %s\n", tensor.name, shapeOf(tensor).c_str());
  }
  check(cleave_infer(session));
  for (size_t i = 0; cleave_describe_output(session, "infer", i, &tensor) == CLEAVE_OK; ++i) {
    std::vector<float> values(tensor.bytes / sizeof(float));
    check(cleave_get_output(session, "infer", tensor.name, values.data(), tensor.bytes));
    std::printf("output %s: %s, first value %.6f\n", tensor.name, shapeOf(tensor).c_str(), values[0]);
  }
  cleave_session_destroy(session);
  return 0;
}
