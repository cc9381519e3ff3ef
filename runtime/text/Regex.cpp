#include "runtime/text/Regex.h"

#include <cstdint>
#include <dlfcn.h>

namespace cleave::rt {
namespace {

// Constants of pcre2.h, whose ABI is stable. So only the library is needed, even on the machine that builds.
constexpr uint32_t kUnicodeClasses = 0x00020000, kUtf8 = 0x00080000; // PCRE2_UCP, PCRE2_UTF
constexpr uint32_t kNeverSingleBytes = 0x00100000; // PCRE2_NEVER_BACKSLASH_C: \C would split characters
constexpr uint32_t kNoUtfCheck = 0x40000000;       // PCRE2_NO_UTF_CHECK, after the first match of a text
constexpr int kNoMatch = -1;                       // PCRE2_ERROR_NOMATCH

struct Library {
  void *(*compile)(const uint8_t *, size_t, uint32_t, int *, size_t *, void *) = nullptr;
  void (*freeCode)(void *) = nullptr;
  void *(*createMatch)(const void *, void *) = nullptr;
  void (*freeMatch)(void *) = nullptr;
  int (*match)(const void *, const uint8_t *, size_t, size_t, uint32_t, void *, void *) = nullptr;
  size_t *(*offsets)(void *) = nullptr;
  int (*message)(int, uint8_t *, size_t) = nullptr;
  std::string error;

  Library() {
    void *handle = ::dlopen("libpcre2-8.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *reason = ::dlerror();
      error = std::string("splitting text needs libpcre2-8.so.0 (Debian: libpcre2-8-0), which cannot be opened: ") +
              (reason ? reason : "no reason given");
      return;
    }
    load(handle, "pcre2_compile_8", &compile);
    load(handle, "pcre2_code_free_8", &freeCode);
    load(handle, "pcre2_match_data_create_from_pattern_8", &createMatch);
    load(handle, "pcre2_match_data_free_8", &freeMatch);
    load(handle, "pcre2_match_8", &match);
    load(handle, "pcre2_get_ovector_pointer_8", &offsets);
    load(handle, "pcre2_get_error_message_8", &message);
  }

  template <typename Function> void load(void *handle, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(::dlsym(handle, name));
    if (!*function)
      error = std::string("libpcre2-8.so.0 has no ") + name + "; install libpcre2-8-0 of 10.30 or later";
  }

  std::string text(int code) const {
    uint8_t buffer[256] = "";
    message(code, buffer, sizeof buffer);
    return reinterpret_cast<char *>(buffer);
  }
};

const Library &library() {
  static const Library opened;
  return opened;
}

const uint8_t *bytes(std::string_view text) { return reinterpret_cast<const uint8_t *>(text.data()); }

} // namespace

Status Regex::compile(const std::string &pattern, Regex *result) {
  const Library &pcre = library();
  if (!pcre.error.empty())
    return notFound(pcre.error);
  int code = 0;
  size_t place = 0;
  void *compiled =
      pcre.compile(bytes(pattern), pattern.size(), kUtf8 | kUnicodeClasses | kNeverSingleBytes, &code, &place, nullptr);
  if (!compiled)
    return invalidArgument("the regular expression '" + pattern + "' cannot be read: " + pcre.text(code) +
                           " at character " + std::to_string(place));
  result->code_ = std::shared_ptr<void>(compiled, pcre.freeCode);
  return Status::ok();
}

Status Regex::forEachMatch(std::string_view text, const std::function<void(size_t, size_t)> &visit) const {
  const Library &pcre = library();
  std::unique_ptr<void, void (*)(void *)> match(pcre.createMatch(code_.get(), nullptr), pcre.freeMatch);
  for (size_t at = 0; at < text.size();) {
    int code = pcre.match(code_.get(), bytes(text), text.size(), at, at == 0 ? 0 : kNoUtfCheck, match.get(), nullptr);
    if (code == kNoMatch)
      return Status::ok();
    if (code < 0)
      return invalidArgument("text cannot be split: " + pcre.text(code));
    size_t begin = pcre.offsets(match.get())[0], end = pcre.offsets(match.get())[1];
    if (end > begin)
      visit(begin, end);
    at = end > at ? end : at + 1;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) // skip to the next character
      ++at;
  }
  return Status::ok();
}

} // namespace cleave::rt
