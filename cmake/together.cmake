# Sources that are compiled some together take half the time, which is what whoever only uses netsonde
# waits for. Clang-tidy and whoever changes a source want each by itself.
option(NETSONDE_TOGETHER "compile some sources together" OFF)

function(netsonde_compile_together)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${NETSONDE_TOGETHER} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# The kernel's own header of TCP and that of the C library do not go together.
set_source_files_properties(engine/transport/socket/tcp_info.cpp
  engine/transport/mpi/tcp_partners.cpp PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON)
