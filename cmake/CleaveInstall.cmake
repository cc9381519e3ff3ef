# `cmake --install build --prefix DIR`, and find_package(Cleave) for others, from an installation or from the build tree.
# Components: `runtime` (always there) gives Cleave::cleave_rt and Cleave::cleave_main; `compiler` gives Cleave::CleaveIR
# for plug-ins.
include(CMakePackageConfigHelpers)

set(CLEAVE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Cleave)
set(runtime_targets cleave_rt cleave_main)
install(TARGETS ${runtime_targets} EXPORT CleaveTargets ARCHIVE DESTINATION lib)
install(TARGETS cleave_comm_mpi LIBRARY DESTINATION lib)
install(DIRECTORY runtime/include/cleave DESTINATION include)
target_include_directories(cleave_rt INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include> $<INSTALL_INTERFACE:include>)

if(CLEAVE_BUILD_COMPILER)
  install(TARGETS cleave cleave-opt RUNTIME DESTINATION bin)
  install(TARGETS CleaveIR EXPORT CleaveTargets LIBRARY DESTINATION lib)
  install(DIRECTORY dialects DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
  install(DIRECTORY ${CMAKE_BINARY_DIR}/dialects DESTINATION include FILES_MATCHING PATTERN "*.inc")
  target_include_directories(CleaveIR INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>
                                                $<INSTALL_INTERFACE:include>)
  set_target_properties(cleave cleave-opt PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
endif()

configure_package_config_file(cmake/CleaveConfig.cmake.in ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfig.cmake
                              INSTALL_DESTINATION ${CLEAVE_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/FindCleaveOneDNN.cmake ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/FindCleaveOneDNN.cmake COPYONLY)
install(FILES ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfig.cmake
              ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveConfigVersion.cmake
              cmake/FindCleaveOneDNN.cmake DESTINATION ${CLEAVE_CMAKE_DIR})
install(EXPORT CleaveTargets NAMESPACE Cleave:: DESTINATION ${CLEAVE_CMAKE_DIR})
export(EXPORT CleaveTargets NAMESPACE Cleave:: FILE ${CMAKE_BINARY_DIR}/lib/cmake/Cleave/CleaveTargets.cmake)
