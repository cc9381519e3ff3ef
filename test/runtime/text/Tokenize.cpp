// Tokenize TOKENIZER.json: each line of the input is a text in hexadecimal digits. Each line of the output has its
// tokens and, after a semicolon, their text in hexadecimal digits.
#include "runtime/text/Tokenizer.h"

#include <iostream>

using namespace cleave::rt;

int main(int argc, char **argv) {
  Tokenizer tokenizer;
  Status status = argc == 2 ? Tokenizer::open(argv[1], &tokenizer) : invalidArgument("usage: Tokenize TOKENIZER.json");
  if (!status.isOk()) {
    std::cerr << status.message() << "\n";
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::string text;
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      text += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    std::vector<uint64_t> tokens;
    if (Status encoded = tokenizer.encode(text, &tokens); !encoded.isOk())
      std::cout << "error: " << encoded.message();
    std::string bytes;
    bool isFirst = true;
    for (uint64_t token : tokens) {
      std::cout << token << " ";
      bytes += tokenizer.bytesOf(token, isFirst);
      isFirst &= tokenizer.bytesOf(token).empty();
    }
    std::cout << ";";
    for (unsigned char byte : bytes)
      std::cout << "0123456789abcdef"[byte >> 4] << "0123456789abcdef"[byte & 15];
    std::cout << "\n";
  }
}
