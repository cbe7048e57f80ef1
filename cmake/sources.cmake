# The sources of programs that need a library of the host, and the headers of the JSON library, are
# installed, too: netsonde builds them itself when they are first asked for, for an MPI without the
# standard ABI, for PVM, and over libfabric (src/netsonde/launch/engine_build.py).
set(sources_folder "${SKBUILD_DATA_DIR}/share/netsonde")
foreach(folder core counters host_benchmarks kernel_trace test collective protocol schedule transport
    tuned worker)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/engine/${folder}
    DESTINATION "${sources_folder}/engine" COMPONENT workers
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.cpp" PATTERN "*.map")
endforeach()
get_target_property(json_folders nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
foreach(folder IN LISTS json_folders)
  if(EXISTS "${folder}/nlohmann/json.hpp")
    install(DIRECTORY "${folder}/nlohmann" DESTINATION "${sources_folder}/include"
      COMPONENT workers)
  endif()
endforeach()

# A folder of what `netsonde man` writes, as scripts/wheels.py has it made: a build has not what
# netsonde needs to run.
set(NETSONDE_MANUAL_PAGES "" CACHE PATH "folder of manual pages to install")
if(NETSONDE_MANUAL_PAGES)
  install(DIRECTORY "${NETSONDE_MANUAL_PAGES}/" DESTINATION "${SKBUILD_DATA_DIR}/share/man/man1"
    COMPONENT workers FILES_MATCHING PATTERN "*.1")
endif()
