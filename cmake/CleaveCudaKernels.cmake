# The hand-written CUDA kernels as PTX text in the runtime. Without a CUDA compiler the text is empty, the runtime and the
# compiler build as ever, and what needs these kernels says so.
find_program(CLEAVE_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATH_SUFFIXES bin PATHS /usr/local/cuda/bin
             DOC "CUDA compiler for the kernels in kernels/*/cuda; none: they are left out")

# Of a driver of CUDA 12.0, as in compiler/Target/Cuda.cpp.
set(CLEAVE_PTX_VERSION 8.0)

# The PTX of `source` as cleave::rt::FUNCTION() in `output`, which kernels/common/cuda/CudaKernel.h declares.
function(cleave_embed_cuda_kernels source output function)
  string(REPLACE ".cpp" ".ptx" ptx ${output})
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake)
  if(CLEAVE_NVCC)
    message(STATUS "CUDA kernels: compiled by ${CLEAVE_NVCC}")
    add_custom_command(OUTPUT ${ptx}
      COMMAND ${CLEAVE_NVCC} -std=c++17 -ptx -arch=compute_80 -I${CMAKE_SOURCE_DIR} -MD -MF ${ptx}.d -o ${ptx} ${source}
      COMMAND ${CMAKE_COMMAND} -DPTX=${ptx} -DVERSION=${CLEAVE_PTX_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/LowerPtxVersion.cmake
      DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/LowerPtxVersion.cmake DEPFILE ${ptx}.d COMMENT "CUDA kernels to PTX" VERBATIM)
  else()
    message(STATUS "CUDA kernels: left out, there is no nvcc; --target cuda lacks what needs them")
    file(WRITE ${ptx} "")
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DTEXT=${ptx} -DOUTPUT=${output} -DHEADER=kernels/common/cuda/CudaKernel.h
      -DNAMESPACE=cleave::rt -DFUNCTION=${function} -P ${script} DEPENDS ${ptx} ${script} VERBATIM)
endfunction()
