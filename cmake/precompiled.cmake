# The JSON library's header costs 1.6 s in each of a hundred files, so it is compiled once, with the
# headers of the standard library that most files include. A file still includes what it uses: builds
# without this (NETSONDE_PCH=OFF, and sonde-mpi for another MPI) are the proof.

# For a target whose flags are its own.
function(netsonde_precompile target)
  if(NETSONDE_PCH)
    target_precompile_headers(${target} PRIVATE <nlohmann/json.hpp> <algorithm> <array> <atomic>
      <charconv> <chrono> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string>
      <string_view> <system_error> <thread> <utility> <variant> <vector>)
  endif()
endfunction()

# For those that are compiled with the flags of sonde_core.
function(netsonde_use_precompiled)
  if(NETSONDE_PCH)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM sonde_core)
    endforeach()
  endif()
endfunction()
