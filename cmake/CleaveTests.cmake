# cleave_add_gtest(NAME FooTest SOURCES FooTest.cpp LINK cleave_rt): a GoogleTest program in build/test-bin, one CTest
# entry for the whole program (starting MLIR programs once per case would take minutes). Tests of the runtime carry the
# label `runtime`; those that mpirun starts, `mpi`. The test's own code is compiled in a third less time than by -O3.
function(cleave_add_gtest)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK;ARGS" ${ARGN})
  add_executable(${A_NAME} EXCLUDE_FROM_ALL ${A_SOURCES})
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-bin)
  target_compile_definitions(${A_NAME} PRIVATE CLEAVE_TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/test")
  target_compile_options(${A_NAME} PRIVATE -O1)
  target_link_libraries(${A_NAME} PRIVATE ${A_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME ${A_NAME} COMMAND ${A_NAME} ${A_ARGS})
  add_dependencies(cleave-tests ${A_NAME})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/test/runtime/")
    set_tests_properties(${A_NAME} PROPERTIES LABELS runtime)
    add_dependencies(runtime-tests ${A_NAME})
  endif()
endfunction()
