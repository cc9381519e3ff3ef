# `cmake --install build --prefix DIR`, and find_package(Cleave) for others, from an installation or from the build tree.
# Components, which are packages too (CleavePackages.cmake): `runtime` (always there) gives Cleave::cleave_rt and Cleave::cleave_main for programs that link a compiled
# model; `compiler` gives Cleave::CleaveIR, Cleave::CleavePlanIR, Cleave::CleaveImportRegistry and Cleave::CleaveOptimizers
# for plug-ins.
# Emitted programs are linked against DIR/lib: the compiler looks for it beside its own folder (compiler/Driver/Files/Linker.cpp).
include(CMakePackageConfigHelpers)

set(CLEAVE_CMAKE_DIR lib/cmake/Cleave)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
install(TARGETS cleave_rt cleave_main EXPORT CleaveRuntime ARCHIVE DESTINATION lib)
install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/cleave_rt.link ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/cleave_rt_device.link DESTINATION lib)
if(TARGET cleave_comm_mpi)
  install(TARGETS cleave_comm_mpi LIBRARY DESTINATION lib)
endif()
install(DIRECTORY runtime/include/cleave DESTINATION include)
# A package for the user's own Python: PYTHONPATH=DIR/lib/python3/dist-packages, which is Debian's path below /usr.
install(DIRECTORY python/cleave DESTINATION lib/python3/dist-packages FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
target_include_directories(cleave_rt INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include> $<INSTALL_INTERFACE:include>)
if(CLEAVE_SANITIZER)
  target_link_options(cleave_rt INTERFACE ${CLEAVE_SANITIZER_FLAG})
endif()

if(CLEAVE_BUILD_COMPILER)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME compiler)
  install(TARGETS cleave cleave-opt RUNTIME DESTINATION bin)
  set_target_properties(cleave cleave-opt PROPERTIES INSTALL_RPATH "$ORIGIN/../lib" INSTALL_RPATH_USE_LINK_PATH ON)

  # What a plug-in shares with the tools that load it.
  set(shared_libraries CleaveIR CleavePlanIR CleaveImportRegistry CleaveOptimizers)
  install(TARGETS ${shared_libraries} EXPORT CleaveCompiler LIBRARY DESTINATION lib)
  set_target_properties(${shared_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  foreach(library ${shared_libraries})
    target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                               $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}> $<INSTALL_INTERFACE:include>)
  endforeach()
  foreach(folder dialects/Cleave/IR dialects/Plan/IR compiler/Import/Registry compiler/Training/Optimizers)
    install(DIRECTORY ${folder}/ DESTINATION include/${folder} FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.md")
  endforeach()
  install(FILES compiler/Training/Arithmetic.h DESTINATION include/compiler/Training)
  install(DIRECTORY runtime/plan/ DESTINATION include/runtime/plan FILES_MATCHING PATTERN "*.def")
  foreach(folder dialects/Cleave/IR dialects/Plan/IR)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/${folder}/ DESTINATION include/${folder}
            FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
  endforeach()
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
configure_package_config_file(cmake/CleaveConfig.cmake.in ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfig.cmake
                              INSTALL_DESTINATION ${CLEAVE_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
foreach(module FindCleaveOneDNN CleaveMLIR)
  configure_file(cmake/${module}.cmake ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/${module}.cmake COPYONLY)
  install(FILES cmake/${module}.cmake DESTINATION ${CLEAVE_CMAKE_DIR})
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfig.cmake
              ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfigVersion.cmake DESTINATION ${CLEAVE_CMAKE_DIR})
# For who links without CMake: c++ main.cpp model.o $(pkg-config --cflags --libs cleave), from an installation or the build tree.
get_property(CLEAVE_LINK_ARGUMENTS GLOBAL PROPERTY CLEAVE_LINK_ARGUMENTS)
string(REPLACE ";" " " CLEAVE_PC_LIBRARIES "${CLEAVE_LINK_ARGUMENTS}")
set(CLEAVE_PC_INCLUDES "${CMAKE_SOURCE_DIR}/runtime/include")
configure_file(cmake/cleave.pc.in ${CMAKE_BINARY_DIR}/lib/pkgconfig/cleave.pc @ONLY)
set(CLEAVE_PC_INCLUDES "\${prefix}/include")
configure_file(cmake/cleave.pc.in ${CMAKE_BINARY_DIR}/installed/cleave.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/installed/cleave.pc DESTINATION lib/pkgconfig)
set(exports CleaveRuntime)
if(CLEAVE_BUILD_COMPILER)
  list(APPEND exports CleaveCompiler)
endif()
foreach(set ${exports})
  string(REGEX REPLACE "^Cleave(.*)$" "\\1" component ${set})
  string(TOLOWER ${component} component)
  install(EXPORT ${set} NAMESPACE Cleave:: DESTINATION ${CLEAVE_CMAKE_DIR} COMPONENT ${component})
  export(EXPORT ${set} NAMESPACE Cleave:: FILE ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/${set}.cmake)
endforeach()

# What the programs say about themselves: the manual pages, and completion for shells.
if(CLEAVE_BUILD_COMPILER)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME compiler)
  set(written ${CMAKE_BINARY_DIR}/installed)
  foreach(what "manual:cleave.1" "completion bash:cleave.bash" "completion zsh:_cleave" "completion fish:cleave.fish")
    string(REGEX REPLACE ":.*" "" command ${what})
    string(REGEX REPLACE ".*:" "" file ${what})
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:cleave>\" ${command} OUTPUT_FILE \"${written}/${file}\" COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
  set(manual_page "execute_process(COMMAND \"${CMAKE_COMMAND}\"")
  set(end "-P \"${CMAKE_SOURCE_DIR}/cmake/ManualPage.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
  install(CODE "${manual_page} \"-DPAGE=${written}/cleave-program.1\" \"-DREFERENCE=${CMAKE_SOURCE_DIR}/docs/reference/program.md\" ${end}")
  install(CODE "${manual_page} \"-DPAGE=${written}/cleave-opt.1\" \"-DPROGRAM=$<TARGET_FILE:cleave-opt>\" \"-DSOURCE=${CMAKE_SOURCE_DIR}\" ${end}")
  install(FILES ${written}/cleave.1 ${written}/cleave-opt.1 ${written}/cleave-program.1 DESTINATION share/man/man1)
  install(FILES ${written}/cleave.bash DESTINATION share/bash-completion/completions RENAME cleave)
  install(FILES ${written}/_cleave DESTINATION share/zsh/vendor-completions)
  install(FILES ${written}/cleave.fish DESTINATION share/fish/vendor_completions.d)
  # The guides, and below share/cleave the files that their commands use: CLEAVE_SOURCE=DIR/share/cleave. The paths there are
  # those of the source tree (test/project/Inputs/check_installation.py).
  install(DIRECTORY docs/ DESTINATION share/doc/cleave FILES_MATCHING PATTERN "*.md" PATTERN "*.png"
          PATTERN Rationale.md EXCLUDE PATTERN recorded EXCLUDE PATTERN stylesheets EXCLUDE)
  install(DIRECTORY docs/recorded DESTINATION share/cleave/docs PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY examples DESTINATION share/cleave PATTERN __pycache__ EXCLUDE PATTERN Rationale.md EXCLUDE)
  install(FILES LICENSE DESTINATION share/cleave)
  include(CleaveBundle)
endif()
install(FILES LICENSE DESTINATION share/doc/cleave-runtime RENAME copyright COMPONENT runtime)
install(FILES CHANGELOG.md DESTINATION share/doc/cleave-runtime COMPONENT runtime)
include(CleavePackages)
