# cmake -DPTX=FILE -DVERSION=8.0 -P LowerPtxVersion.cmake: says in a PTX text that it is of an earlier version of PTX.
#
# nvcc writes the newest version that it knows, whatever the text needs, and a driver refuses a text that is newer than
# itself: kernels that CUDA 13 has compiled would need a driver of CUDA 13. The text uses nothing newer than VERSION, which
# ptxas checks in the gate (test/cuda/static.test).
file(READ ${PTX} text)
string(REGEX REPLACE "\n\\.version [0-9]+\\.[0-9]+" "\n.version ${VERSION}" lowered "${text}")
file(WRITE ${PTX} "${lowered}")
