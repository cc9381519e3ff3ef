# oneDNN as the imported target DNNL::dnnl. Debian's own dnnl-config.cmake asks for OpenCL's development files, which
# nothing here uses.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CleaveOneDNN REQUIRED_VARS DNNL_LIBRARY DNNL_INCLUDE_DIR)
if(CleaveOneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl SHARED IMPORTED GLOBAL)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${DNNL_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
endif()
