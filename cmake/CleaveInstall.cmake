# `cmake --install build --prefix DIR`, and find_package(Cleave) for others, from an installation or from the build tree.
# Components: `runtime` (always there) gives Cleave::cleave_rt and Cleave::cleave_main for programs that link a compiled
# model; `compiler` gives Cleave::CleaveIR, Cleave::CleavePlanIR and Cleave::CleaveImportRegistry for plug-ins.
# Emitted programs are linked against DIR/lib: the compiler looks for it beside its own folder (compiler/Driver/Linker.cpp).
include(CMakePackageConfigHelpers)

set(CLEAVE_CMAKE_DIR lib/cmake/Cleave)
install(TARGETS cleave_rt cleave_main EXPORT CleaveRuntime ARCHIVE DESTINATION lib)
install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/cleave_rt.link DESTINATION lib)
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
  install(TARGETS cleave cleave-opt RUNTIME DESTINATION bin)
  set_target_properties(cleave cleave-opt PROPERTIES INSTALL_RPATH "$ORIGIN/../lib" INSTALL_RPATH_USE_LINK_PATH ON)

  # What a plug-in shares with the tools that load it.
  set(shared_libraries CleaveIR CleavePlanIR CleaveImportRegistry)
  install(TARGETS ${shared_libraries} EXPORT CleaveCompiler LIBRARY DESTINATION lib)
  set_target_properties(${shared_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  foreach(library ${shared_libraries})
    target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                               $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}> $<INSTALL_INTERFACE:include>)
  endforeach()
  foreach(folder dialects/Cleave/IR dialects/Plan/IR compiler/Import/Registry)
    install(DIRECTORY ${folder}/ DESTINATION include/${folder} FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
  endforeach()
  install(DIRECTORY runtime/plan/ DESTINATION include/runtime/plan FILES_MATCHING PATTERN "*.def")
  foreach(folder dialects/Cleave/IR dialects/Plan/IR)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/${folder}/ DESTINATION include/${folder}
            FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
  endforeach()
endif()

configure_package_config_file(cmake/CleaveConfig.cmake.in ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfig.cmake
                              INSTALL_DESTINATION ${CLEAVE_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
foreach(module FindCleaveOneDNN CleaveMLIR)
  configure_file(cmake/${module}.cmake ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/${module}.cmake COPYONLY)
  install(FILES cmake/${module}.cmake DESTINATION ${CLEAVE_CMAKE_DIR})
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfig.cmake
              ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfigVersion.cmake DESTINATION ${CLEAVE_CMAKE_DIR})
set(exports CleaveRuntime)
if(CLEAVE_BUILD_COMPILER)
  list(APPEND exports CleaveCompiler)
endif()
foreach(set ${exports})
  install(EXPORT ${set} NAMESPACE Cleave:: DESTINATION ${CLEAVE_CMAKE_DIR})
  export(EXPORT ${set} NAMESPACE Cleave:: FILE ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/${set}.cmake)
endforeach()
