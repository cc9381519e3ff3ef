// Finds a comma too many in a list, as in "adamw," or "1,,2". Such a list is refused: something may be missing there.
#ifndef CLEAVE_RUNTIME_BASE_EMPTYITEM_H
#define CLEAVE_RUNTIME_BASE_EMPTYITEM_H

#include <algorithm>
#include <string>
#include <string_view>

namespace cleave::rt {

// "there is nothing after the last comma", or an empty text if each item has characters other than blanks. A text
// without a comma is one item, which may be empty.
inline std::string describeEmptyItem(std::string_view list) {
  if (list.find(',') == list.npos)
    return "";
  for (size_t begin = 0, end = 0; end != list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin).find_first_not_of(" \t\r\n") == list.npos)
      return std::string("there is nothing ") + (begin == 0           ? "before the first comma"
                                                 : end == list.size() ? "after the last comma"
                                                                      : "between two commas");
  }
  return "";
}

} // namespace cleave::rt

#endif
