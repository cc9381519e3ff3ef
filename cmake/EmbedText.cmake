# cmake -DTEXT=FILE -DOUTPUT=FILE.cpp -DHEADER=FILE.h -DNAMESPACE=NAME -DFUNCTION=NAME -P EmbedText.cmake: a text file as
# NAMESPACE::FUNCTION(), which HEADER declares.
file(READ ${TEXT} text)
# In parts: compilers need not take a string literal of any length.
set(parts "")
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 15000 part)
  string(APPEND parts "    R\"embedded(${part})embedded\"\n")
  math(EXPR at "${at} + 15000")
endwhile()
file(WRITE ${OUTPUT} "// Written by cmake/EmbedText.cmake.
#include \"${HEADER}\"
namespace ${NAMESPACE} {
static const char kImage[] =
${parts}    \"\";
const char *${FUNCTION}() { return kImage; }
} // namespace ${NAMESPACE}
")
