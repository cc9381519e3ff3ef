# CLEAVE_SANITIZER=address,undefined | address | undefined | thread builds everything of Cleave's own with these sanitizers (see
# CMakePresets.json and tools/dev/sanitize.sh). The first finding ends the program, so that no test passes beside one; line
# tables are all that its report needs.
set(CLEAVE_SANITIZER "" CACHE STRING "address, undefined, thread, several by comma, or empty")
if(CLEAVE_SANITIZER)
  set(CLEAVE_SANITIZER_FLAG -fsanitize=${CLEAVE_SANITIZER})
  add_compile_options(${CLEAVE_SANITIZER_FLAG} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(${CLEAVE_SANITIZER_FLAG})
endif()
