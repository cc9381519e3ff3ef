# CLEAVE_SANITIZER=address|undefined|thread builds everything of Cleave's own with that sanitizer (see CMakePresets.json).
set(CLEAVE_SANITIZER "" CACHE STRING "address, undefined, thread or empty")
if(CLEAVE_SANITIZER)
  add_compile_options(-fsanitize=${CLEAVE_SANITIZER} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${CLEAVE_SANITIZER})
endif()
