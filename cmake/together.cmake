# Sources that are compiled some together take half the time, which is what whoever only uses netsonde
# waits for. Clang-tidy and whoever changes a source want each by itself.
option(NETSONDE_TOGETHER "compile some sources together" OFF)

# GCC stops to collect garbage whenever its memory has grown by a third or so: not below 400 MB, which
# any group needs anyway, takes a tenth less.
if(NETSONDE_TOGETHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=400000) # kB
endif()

# `most` files in one: each group costs 2 s by itself, for the headers and for what all files make of
# their templates, but no group is to be what two processors wait for in the end.
function(netsonde_compile_together most)
  set_target_properties(${ARGN} PROPERTIES
    UNITY_BUILD ${NETSONDE_TOGETHER} UNITY_BUILD_BATCH_SIZE ${most})
endfunction()

# The kernel's own header of TCP and that of the C library do not go together.
set_source_files_properties(engine/transport/socket/tcp_info.cpp
  engine/transport/mpi/tcp_partners.cpp PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON)
