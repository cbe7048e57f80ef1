# nlohmann-json: the system's package where there is one, else the headers of the Python wheel
# nlohmann-json, which is one of the build requirements of pyproject.toml.
find_package(nlohmann_json 3.10 QUIET)
if(NOT nlohmann_json_FOUND AND Python3_Interpreter_FOUND)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
      "import importlib.util as u; print(u.find_spec('nlohmann_json').submodule_search_locations[0])"
    OUTPUT_VARIABLE json_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${json_wheel}/include/nlohmann/json.hpp")
    add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
    target_include_directories(nlohmann_json::nlohmann_json INTERFACE "${json_wheel}/include")
    set(nlohmann_json_FOUND TRUE)
  endif()
endif()
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "nlohmann-json 3.10 or later is needed: install nlohmann-json3-dev, "
                      "or the Python package nlohmann-json")
endif()
