#include "compiler/Inspect/Page.h"

namespace cleave::view {

std::string pageOf(const rt::fb::Plan &plan, const PageParts &parts) {
  constexpr const char *kPlace = "@PLAN@";
  std::string page = pageTemplate(), json = pageJson(plan, parts), escaped;
  escaped.reserve(json.size());
  for (char c : json)
    if (c == '<') // of "</script>" and "<!--"; in JSON it can only be inside a text
      escaped += "\\u003c";
    else
      escaped += c;
  size_t at = page.find(kPlace);
  return page.replace(at, std::string_view(kPlace).size(), escaped);
}

} // namespace cleave::view
